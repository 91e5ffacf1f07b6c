#pragma once

#include <string_view>

#include "commands/command.hpp"

// Forms that come back because they could not be saved.
namespace customers::drafts {

// What was typed, without a lock.
[[nodiscard]] web::pages::Form without_lock(const Visit& visit, const leasehold::LockKey& key,
                                            const web::Fields& typed, std::string_view reason);
// The same with the lock that it was sent with.
[[nodiscard]] web::pages::Form with_lock(const Visit& visit, const leasehold::LockKey& key,
                                         const web::Fields& typed);
// After a save that was refused; with its lock if that is still ours.
[[nodiscard]] web::pages::Form not_saved(const Visit& visit, const leasehold::LockKey& key,
                                         const web::Fields& typed, const kit::NotSaved& why);

// Whether what could not be saved is saved already: a form that was sent twice.
[[nodiscard]] bool is_saved_already(const Visit& visit, const web::Fields& typed,
                                    const web::Fields& now, const Revision& revision);

// Adds what others did since the form was loaded. A form with its lock is brought up to date: what
// the person did not touch is as the others have saved it.
void tell_changes(web::pages::Form& form, const web::Fields& now, const Revision& revision);

}  // namespace customers::drafts
