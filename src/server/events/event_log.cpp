#include "server/events/event_log.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/rules.hpp"
#include "core/sizes.hpp"

namespace leasehold::server {
namespace {

// take() adds no further event after this number of bytes.
constexpr std::size_t piece_bytes = 64 * 1024;
// take() looks at this number of events before others can use the log.
constexpr std::size_t looked_at_once = 200;

// Of the event itself and of its text, both with the size of the text.
std::size_t bytes_of(const Event& event) {
    return 2 * (size_of(event.lease) + bytes_in_json(event.by) + bytes_in_json(event.why));
}

std::string random_name() {
    return LockId::random().to_string().substr(0, 13);
}

}  // namespace

bool EventFilter::admits(const Holder& lease) const {
    return (!type || lease.key.type() == *type) && (!id || lease.key.id() == *id) &&
           (!owner || owner_matches(lease.owner, *owner, scope)) && visible.has(lease.key);
}

EventLog::EventLog(std::size_t kept) : kept_{kept}, server_{random_name()} {}

EventLog::~EventLog() = default;

std::string EventLog::id_of(std::uint64_t number) {
    return server_ + '.' + numbers_.print(number);
}

std::optional<std::uint64_t> EventLog::place_of(std::string_view id) {
    if (!id.starts_with(server_) || !id.substr(server_.size()).starts_with('.')) return {};
    id.remove_prefix(server_.size() + 1);
    const auto number = numbers_.read(id);
    if (!number || *number > last_ || *number + 1 < first()) return {};
    return number;
}

void EventLog::append(const Event& event) {
    const std::size_t bytes = bytes_of(event);
    const std::lock_guard lock{mutex_};
    const std::uint64_t first_before = first();
    entries_.push_back({.event = event, .bytes = bytes});
    ++last_;
    bytes_ += bytes;
    while (entries_.size() > kept_ || (bytes_ > kept_ * usual_bytes && entries_.size() > 1)) {
        bytes_ -= entries_.front().bytes;
        entries_.pop_front();
    }
    for (EventStream* const listener : listeners_) {
        const bool knew = std::exchange(listener->told_, true);
        const std::uint64_t next = listener->place_ + 1;
        const bool just_lost = next < first() && next >= first_before;
        if (listener->wake_ && (!knew || just_lost)) listener->wake_();
    }
}

void EventLog::break_off() {
    const std::lock_guard lock{mutex_};
    entries_.clear();
    bytes_ = 0;
    ++last_;
    wake_all();
}

void EventLog::wake_all() {
    for (EventStream* const listener : listeners_) {
        if (listener->wake_) listener->wake_();
    }
}

const std::string& EventLog::text_of(std::uint64_t number, const EventFormat& format) {
    Entry& kept = entry(number);
    if (std::exchange(kept.format, &format) != &format) {
        kept.text.clear();
        format.event(kept.text, id_of(number), kept.event);
    }
    return kept.text;
}

void EventLog::end_revoked() {
    const std::lock_guard lock{mutex_};
    for (EventStream* const listener : listeners_) {
        if (listener->still_allowed_ && !listener->still_allowed_()) listener->revoked_ = true;
    }
    wake_all();
}

std::unique_ptr<EventStream> EventLog::open(EventFilter filter,
                                            const std::optional<std::string>& last_id,
                                            std::function<bool()> still_allowed,
                                            const EventFormat& format, std::size_t most) {
    std::unique_ptr<EventStream> stream{
        new EventStream{shared_from_this(), std::move(filter), std::move(still_allowed), format}};
    const std::lock_guard lock{mutex_};
    if (listeners_.size() >= most) return nullptr;
    const auto place = last_id ? place_of(*last_id) : last_;
    stream->place_ = place.value_or(last_);
    format.begin(stream->greeting_, id_of(stream->place_),
                 place ? EventFormat::Since::nothing_missed : EventFormat::Since::missed);
    listeners_.insert(stream.get());
    return stream;
}

std::size_t EventLog::listeners() const {
    const std::lock_guard lock{mutex_};
    return listeners_.size();
}

void EventLog::close() {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    wake_all();
}

EventStream::~EventStream() {
    const std::lock_guard lock{log_->mutex_};
    log_->listeners_.erase(this);
}

void EventStream::on_news(std::function<void()> wake) {
    const std::lock_guard lock{log_->mutex_};
    wake_ = std::move(wake);
}

EventStream::State EventStream::state_now() const {
    if (log_->closed_ || revoked_) return State::ended;
    return place_ + 1 < log_->first() ? State::lost : State::open;
}

EventStream::State EventStream::state() const {
    const std::lock_guard lock{log_->mutex_};
    return state_now();
}

EventStream::State EventStream::take(std::string& out) {
    const std::size_t end = out.size() + piece_bytes;
    std::unique_lock lock{log_->mutex_};
    for (std::size_t looked_at = 1;; ++looked_at) {
        if (state_now() == State::lost) return State::lost;
        out.append(std::exchange(greeting_, {}));
        if (revoked_ || place_ >= log_->last_ || out.size() >= end) break;
        ++place_;
        if (filter_.admits(log_->entry(place_).event.lease)) {
            out.append(log_->text_of(place_, format_));
        }
        if (looked_at % looked_at_once > 0) continue;
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
    }
    told_ = place_ < log_->last_;
    if (log_->closed_) format_.end(out, EventFormat::End::server_stops);
    if (revoked_) format_.end(out, EventFormat::End::token_revoked);
    return state_now();
}

void EventStream::end_if_revoked() {
    const std::lock_guard lock{log_->mutex_};
    if (still_allowed_ && !still_allowed_()) revoked_ = true;
}

void EventStream::print_heartbeat(std::string& out) const {
    const std::lock_guard lock{log_->mutex_};
    format_.heartbeat(out, log_->id_of(place_));
}

}  // namespace leasehold::server
