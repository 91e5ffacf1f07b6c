#include "commands/record_commands.hpp"

#include "domain/text.hpp"

namespace customers::drafts {
namespace {

std::string_view reason_of(const leasehold::Refusal& refusal) {
    if (refusal.kind == leasehold::Refusal::Kind::busy) {
        return "Not saved: the lock is busy. Try again in a moment.";
    }
    switch (refusal.reason) {
        case leasehold::Gone::expired:
        case leasehold::Gone::taken: return "Not saved: your lock had expired.";
        case leasehold::Gone::released: return "Not saved: your lock had been released.";
        case leasehold::Gone::broken: return "Not saved: your lock was broken.";
        case leasehold::Gone::unknown: break;
    }
    return "Not saved: this form does not have your lock.";
}

}  // namespace

web::Form without_lock(const Visit& visit, const leasehold::LockKey& key, const web::Fields& typed,
                       std::string_view setback) {
    return {.key = key,
            .filled = typed,
            .loaded = web::Fields::parse(visit.request.form.get("loaded")).value_or(web::Fields{}),
            .setback = setback};
}

web::Form with_lock(const Visit& visit, const leasehold::LockKey& key, const web::Fields& typed,
                    std::string_view setback) {
    auto form = without_lock(visit, key, typed, setback);
    if (const auto lock_id = leasehold::LockId::parse(visit.request.form.get("lock_id"))) {
        form.lock =
            web::PageLock{.key = key, .lock_id = lock_id->to_string(), .ttl = visit.desk.ttl};
    }
    return form;
}

web::Form not_saved(const Visit& visit, const leasehold::LockKey& key, const web::Fields& typed,
                    const kit::NotSaved& why) {
    if (why.why == kit::NotSaved::Why::stale) {
        return with_lock(visit, key, typed,
                         "Not saved: somebody has changed it since you opened it.");
    }
    auto form = without_lock(visit, key, typed, reason_of(why.refusal));
    for (const leasehold::Holder& holder : visit.desk.locks.holders(key)) {
        if (kit::user_of(holder.owner) != visit.session.visitor.user()) {
            form.holders.push_back(holder);
        }
    }
    return form;
}

bool is_saved_already(const Visit& visit, const web::Fields& typed, const web::Fields& now,
                      const Revision& revision) {
    const auto opened = integer_from(typed.get("version"));
    return opened && revision.version == *opened + 1 &&
           revision.changed_by == visit.session.visitor.user() && kit::changes(now, typed).empty();
}

void tell_changes(web::Form& form, const web::Fields& now, const Revision& revision) {
    form.changes = kit::changes(form.loaded, now);
    form.revision = revision;
    // The holder of the lock has now seen the changes, and may decide.
    if (!form.lock) return;
    form.filled = kit::merged(form.loaded, form.filled, now);
    form.loaded = now;
}

}  // namespace customers::drafts
