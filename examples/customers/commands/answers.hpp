#pragma once

#include <string>
#include <string_view>

#include "commands/command.hpp"

// What several commands answer alike.
namespace customers::answers {

// What was asked for and refused.
struct Wanted {
    leasehold::LockKey key;
    leasehold::Mode mode = leasehold::Mode::exclusive;
    std::string title{};
    std::string open_path{};  // where to ask again
    std::string view_path{};
};

// What a redirect to this page had to tell, in a word of its query.
[[nodiscard]] std::string_view news(const Visit& visit);

[[nodiscard]] web::Response not_found(const Visit& visit);
[[nodiscard]] web::Response refused(const Visit& visit, const Wanted& wanted,
                                    const leasehold::Refusal& refusal);

// The form again with what was typed, without a lock.
[[nodiscard]] web::pages::Form draft(const Visit& visit, const std::string& id,
                                     const web::Fields& typed, std::string_view reason);
// The form again, with the lock that it was sent with.
[[nodiscard]] web::pages::Form unsaved(const Visit& visit, const std::string& id,
                                       const web::Fields& typed, const leasehold::LockKey& key);
// The form again after a save that was refused; with its lock if that is still ours.
[[nodiscard]] web::pages::Form not_saved(const Visit& visit, const std::string& id,
                                         const web::Fields& typed, const kit::NotSaved& why,
                                         const leasehold::LockKey& key);

// Whether what could not be saved is saved already: a form that was sent twice.
[[nodiscard]] bool is_saved_already(const Visit& visit, const web::Fields& typed,
                                    const web::Fields& now, const Revision& revision);

// Adds what others did since the form was loaded. A form with its lock is brought up to date: what
// the person did not touch is as the others have saved it.
void tell_changes(web::pages::Form& form, const web::Fields& now, const Revision& revision);

}  // namespace customers::answers
