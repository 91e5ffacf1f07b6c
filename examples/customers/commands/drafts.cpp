#include "commands/drafts.hpp"

#include "web/forms.hpp"

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

web::pages::Form without_lock(const Visit& visit, const leasehold::LockKey& key,
                              const web::Fields& typed, std::string_view reason) {
    return {.key = key,
            .filled = typed,
            .loaded = web::Fields::parse(visit.request.form.get("loaded")).value_or(web::Fields{}),
            .setback = web::pages::Setback{.reason = reason}};
}

web::pages::Form with_lock(const Visit& visit, const leasehold::LockKey& key,
                           const web::Fields& typed) {
    auto form = without_lock(visit, key, typed, {});
    form.setback.reset();
    if (const auto lock_id = leasehold::LockId::parse(visit.request.form.get("lock_id"))) {
        form.lock = web::pages::PageLock{
            .key = key, .lock_id = lock_id->to_string(), .ttl = visit.desk.ttl};
    }
    return form;
}

web::pages::Form not_saved(const Visit& visit, const leasehold::LockKey& key,
                           const web::Fields& typed, const kit::NotSaved& why) {
    if (why.why == kit::NotSaved::Why::stale) {
        auto form = with_lock(visit, key, typed);
        form.setback = web::pages::Setback{
            .reason = "Not saved: somebody has changed it since you opened it."};
        return form;
    }
    auto form = without_lock(visit, key, typed, reason_of(why.refusal));
    for (const leasehold::Holder& holder : visit.desk.locks.holders(key)) {
        if (kit::user_of(holder.owner) != visit.session.visitor.user()) {
            form.setback->holders.push_back(holder);
        }
    }
    return form;
}

bool is_saved_already(const Visit& visit, const web::Fields& typed, const web::Fields& now,
                      const Revision& revision) {
    const auto opened = web::integer_from(typed.get("version"));
    return opened && revision.version == *opened + 1 &&
           revision.changed_by == visit.session.visitor.user() && kit::changes(now, typed).empty();
}

void tell_changes(web::pages::Form& form, const web::Fields& now, const Revision& revision) {
    form.setback->changes = kit::changes(form.loaded, now);
    form.setback->changed_by = revision.changed_by;
    form.setback->changed_at = revision.changed_at;
    // The holder of the lock has now seen the changes, and may decide.
    if (!form.lock) return;
    form.filled = kit::merged(form.loaded, form.filled, now);
    form.loaded = now;
}

}  // namespace customers::drafts
