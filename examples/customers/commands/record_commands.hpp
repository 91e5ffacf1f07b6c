#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/command.hpp"

// Forms that come back because they could not be saved.
namespace customers::drafts {

// What was typed, without a lock.
[[nodiscard]] web::Form without_lock(const Visit& visit, const leasehold::LockKey& key,
                                     const web::Fields& typed, std::string_view setback);
// The same with the lock that it was sent with.
[[nodiscard]] web::Form with_lock(const Visit& visit, const leasehold::LockKey& key,
                                  const web::Fields& typed, std::string_view setback = {});
// After a save that was refused; with its lock if that is still ours.
[[nodiscard]] web::Form not_saved(const Visit& visit, const leasehold::LockKey& key,
                                  const web::Fields& typed, const kit::NotSaved& why);

// Whether what could not be saved is saved already: a form that was sent twice.
[[nodiscard]] bool is_saved_already(const Visit& visit, const web::Fields& typed,
                                    const web::Fields& now, const Revision& revision);

// Adds what others did since the form was loaded. A form with its lock is brought up to date: what
// the person did not touch is as the others have saved it.
void tell_changes(web::Form& form, const web::Fields& now, const Revision& revision);

}  // namespace customers::drafts

// What can be done with a record of any kind.
namespace customers {

// What a person typed into the form of a record.
template <class T>
struct Typed {
    T record{};
    web::Fields fields{};                      // trimmed, without empty lines
    std::vector<std::string_view> problems{};  // why it cannot be saved, in words for the person
};

// A specialisation says of each kind of record:
//   id(visit)                    which one the request is about
//   records(visit)               the way to it
//   title(record, language)      its name for people
//   fields(record)               what its form has: the version, name, ..., address.1.street
//   read(form, id)               what a person typed, as Typed<T>
//   page(viewer, form, status)   its form
template <class T>
struct Kind;

// Starts a business transaction: takes the lock that the access needs, then loads, then answers
// with `show(record, lock)`. A refusal names the holders. `action` is the last part of the path.
template <class T, class Show>
[[nodiscard]] web::Response open(Visit& visit, const leasehold::LockKey& member,
                                 leasehold::Access access, std::string_view action, Show show) {
    auto& records = Kind<T>::records(visit);
    const leasehold::LockKey key = root_of(member);
    const std::string path = web::path_of(key);
    const std::string address = path + std::string{action};
    if (visit.is_reload() && !records.is_open(member, access)) return web::see_other(path);
    visit.work.start_new();
    auto opened = records.open(member, access);
    const auto record = opened ? opened->record : records.look(std::string{key.id()});
    if (!record) return visit.not_found();
    if (opened) return show(*record, visit.page_lock(*opened->lease, address));
    return web::refused_page(visit.viewer(),
                             {.key = key,
                              .mode = *mode_for(lock_rule<T>.lock_type, access),
                              .ttl = visit.desk.ttl,
                              .title = Kind<T>::title(*record, visit.request.language()),
                              .open_path = address,
                              .holders = opened.error().holders});
}

// Opens the form of a record, asked for by a member of its aggregate.
template <class T>
[[nodiscard]] web::Response edit(Visit& visit, const leasehold::LockKey& member) {
    return open<T>(visit, member, leasehold::Access::write, "/edit",
                   [&](const T& record, const web::PageLock& lock) {
                       const web::Fields fields = Kind<T>::fields(record);
                       return Kind<T>::page(
                           visit.viewer(),
                           {.key = lock.key, .filled = fields, .loaded = fields, .lock = lock},
                           200);
                   });
}

template <class T>
class Edit final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        return edit<T>(visit, key_of<T>(Kind<T>::id(visit)));
    }
};

// Starts another business transaction with what was typed in the one whose lock was lost.
template <class T>
class Reopen final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        const std::string id = Kind<T>::id(visit);
        const leasehold::LockKey key = key_of<T>(id);
        visit.work.start_new();
        auto opened = Kind<T>::records(visit).open(key, leasehold::Access::write);
        const auto typed = Kind<T>::read(visit.request.form, id);
        if (!opened) {
            auto form = drafts::without_lock(visit, key, typed.fields,
                                             "Somebody else has the lock at the moment.");
            form.holders = opened.error().holders;
            return Kind<T>::page(visit.viewer(), form, 409);
        }
        if (!opened->record) return visit.not_found();
        auto form = drafts::without_lock(visit, key, typed.fields, "Review it before you save.");
        form.lock = visit.page_lock(*opened->lease);
        drafts::tell_changes(form, Kind<T>::fields(*opened->record), opened->record->revision);
        return Kind<T>::page(visit.viewer(), form, 200);
    }
};

// Ends the business transaction: check, write and release.
template <class T>
class Save final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        auto& records = Kind<T>::records(visit);
        const std::string id = Kind<T>::id(visit);
        const leasehold::LockKey key = key_of<T>(id);
        const auto typed = Kind<T>::read(visit.request.form, id);
        if (!typed.problems.empty()) {
            auto form = drafts::with_lock(visit, key, typed.fields);
            form.problems = typed.problems;
            return Kind<T>::page(visit.viewer(), form, 422);
        }
        const std::string done = web::path_of(key) + "?saved";
        const auto saved = records.save(id, typed.record, visit.lock_id());
        if (saved) return web::see_other(done);

        const auto now = records.look(id);
        if (!now) return visit.not_found();
        const web::Fields latest = Kind<T>::fields(*now);
        if (drafts::is_saved_already(visit, typed.fields, latest, now->revision)) {
            return web::see_other(done);
        }
        auto form = drafts::not_saved(visit, key, typed.fields, saved.error());
        drafts::tell_changes(form, latest, now->revision);
        return Kind<T>::page(visit.viewer(), form, 409);
    }
};

// Ends the business transaction without a save.
template <class T>
class Leave final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        const leasehold::LockKey key = key_of<T>(Kind<T>::id(visit));
        visit.work.abandon(key, visit.lock_id());
        return web::see_other(web::path_of(key));
    }
};

}  // namespace customers
