#include "server/events/reporter.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/redirect_error.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/counted.hpp"
#include "server/monitoring/observer.hpp"

namespace leasehold::server {
namespace {

// Of all the time, a survey may take a tenth.
constexpr int rest_after_survey = 9;
constexpr std::size_t keys_at_once = 64;
// Leases and keys of the ledger between two turns of others on this thread.
constexpr std::size_t slice = 500;
constexpr std::size_t past_of_key = 100;
// Most surveys find little that is new.
constexpr std::size_t first_page_of_past = 16;

template <class T>
T answer_of(Outcome& outcome) {
    if (auto* fault = std::get_if<StoreFault>(&outcome)) throw StoreFault{*fault};
    return std::move(std::get<T>(outcome));
}

}  // namespace

Reporter::Reporter(StoreQueue& store, const Limits& limits, asio::io_context& home,
                   const ServerOptions& options)
    : store_{store},
      limits_{limits},
      home_{home},
      options_{options},
      log_{std::make_shared<EventLog>(options.events_kept)},
      ledger_{[log = log_](const Event& event) { log->append(event); }, options.events_leases},
      timer_{home.get_executor()} {}

Reporter::~Reporter() = default;

void Reporter::on_home(std::function<void()> use) {
    asio::dispatch(home_, [this, use = std::move(use)] {
        if (phase_ != Phase::reporting) return;
        use();
        if (next_step() < timer_.expiry()) timer_.cancel();
    });
}

void Reporter::take(const Answered& answered) {
    const RequestKind kind = answered.kind;
    const auto tell = [&](const Lease& lease) {
        if (takes(kind) || prolongs(kind)) {
            on_home([this, lease] { ledger_.is_alive(lease); });
        } else if (kind == RequestKind::break_lock) {
            on_home([this, key = lease.key] { ledger_.want(key); });
        } else if (ends(kind)) {
            on_home(
                [this, lease, by = std::string{answered.by}] { ledger_.was_released(lease, by); });
        }
    };
    if (const auto* lease = std::get_if<Lease>(&answered.outcome)) tell(*lease);
    if (const auto* leases = std::get_if<std::vector<Lease>>(&answered.outcome)) {
        std::ranges::for_each(*leases, tell);
    }
}

void Reporter::knocked(Event knock) {
    on_home([this, knock = std::move(knock)] { log_->append(knock); });
}

Task<Reporter::Opened> Reporter::open(EventFilter filter, std::optional<std::string> last_id,
                                      std::function<bool()> still_allowed,
                                      const EventFormat& format) {
    const Counted opening{opening_};
    auto begin = [&](auto resume) {
        asio::dispatch(home_, [this, begun = Begun{std::move(resume)}] { join(begun); });
    };
    const auto fault = co_await answer_from<std::optional<StoreFault>>(begin);
    if (fault) co_return std::unexpected{*fault};
    auto stream = log_->open(std::move(filter), last_id, std::move(still_allowed), format,
                             options_.events_clients);
    if (!stream) co_return std::unexpected{not_sent("too many clients listen to events already")};
    co_return stream;
}

void Reporter::join(Begun begun) {
    if (phase_ == Phase::closed) return begun(not_sent("the server is stopping"));
    if (phase_ == Phase::reporting) return begun({});
    openings_.push_back(std::move(begun));
    if (phase_ == Phase::beginning) return;
    phase_ = Phase::beginning;
    listening_ = true;
    asio::co_spawn(home_, run(), rethrow);
}

void Reporter::answer_all(const std::optional<StoreFault>& fault) {
    for (const Begun& begun : std::exchange(openings_, {})) begun(fault);
}

void Reporter::close() {
    asio::dispatch(home_, [this] {
        phase_ = Phase::closed;
        listening_ = false;
        timer_.cancel();
        log_->close();
        answer_all(not_sent("the server is stopping"));
    });
}

Task<void> Reporter::run() {
    try {
        bool goes_on = co_await begin();
        while (goes_on && somebody_listens()) co_await step();
    } catch (const std::exception& error) {
        options_.observer->failed(error.what());
        answer_all(not_sent("the server cannot follow the store"));
    }
    if (phase_ == Phase::closed) co_return;
    phase_ = Phase::silent;
    listening_ = false;
    ledger_.begin({});
    log_->break_off();
}

Task<void> Reporter::step() {
    ledger_.expect_expiries(store_time(), slice);
    const auto now = Clock::now();
    if (ledger_.wants() && now >= next_look_) {
        co_await look();
    } else if (now >= next_survey_) {
        co_await survey();
    } else {
        co_await pause();
    }
}

Task<bool> Reporter::begin() {
    try {
        Ledger::Survey found = co_await ask_for_all(Past::latest);
        ledger_.begin(std::move(found));
        co_await work_off();
        if (phase_ == Phase::closed) co_return false;
    } catch (const StoreFault& fault) {
        answer_all(fault);
        co_return false;
    }
    phase_ = Phase::reporting;
    last_listened_ = Clock::now();
    next_survey_ = last_listened_ + options_.events_poll;
    answer_all({});
    co_return true;
}

bool Reporter::somebody_listens() {
    if (phase_ == Phase::closed) return false;
    const auto now = Clock::now();
    // Read opening_ first: a client leaves opening_ only after it is in the log.
    const bool somebody = opening_ > 0 || log_->listeners() > 0;
    if (somebody) last_listened_ = now;
    return somebody || now < last_listened_ + options_.events_linger;
}

Task<void> Reporter::survey() {
    const auto began = Clock::now();
    ledger_.begin_survey();
    try {
        Ledger::Survey found = co_await ask_for_all(Past::since_last_time);
        ledger_.surveyed(std::move(found));
        co_await work_off();
    } catch (const StoreFault&) {
        // The next one finds what this one did not.
    }
    const auto took = Clock::now() - began;
    next_survey_ =
        Clock::now() + std::max<Clock::duration>(options_.events_poll, rest_after_survey * took);
}

Task<void> Reporter::work_off() {
    while (ledger_.work_off(slice)) co_await asio::post(use_task);
}

Task<Ledger::Survey> Reporter::ask_for_all(Past wanted) {
    Ledger::Survey found;
    List page{.limit = std::min(limits_.page_rows, options_.events_leases)};
    for (bool more = true; more;) {
        Request question = page;
        Outcome outcome = co_await store_.ask(std::move(question), Recipient::nobody);
        auto live = answer_of<HolderPage>(outcome);
        more = live.may_continue(page.limit);
        if (more) page.after = live.last();
        std::ranges::move(live.items, std::back_inserter(found.live));
        if (!more) break;
        found.complete = found.live.size() < options_.events_leases;
        more = found.complete;
    }
    History past{.limit = wanted == Past::latest ? 1 : first_page_of_past};
    past.limit = std::min(past.limit, limits_.page_rows);
    for (bool more = true; more;) {
        Request question = past;
        Outcome outcome = co_await store_.ask(std::move(question), Recipient::nobody);
        auto ended = answer_of<HistoryPage>(outcome);
        found.store_now = ended.store_now;
        more = wanted == Past::since_last_time && ended.may_continue(past.limit) &&
               ended.last().sequence > ledger_.latest_sequence() &&
               found.past.size() < options_.events_leases;
        if (more) past.before = ended.last().sequence;
        std::ranges::move(ended.items, std::back_inserter(found.past));
        if (!more) break;
        past.limit = limits_.page_rows;
    }
    store_now_ = found.store_now;
    learnt_at_ = Clock::now();
    co_return found;
}

Task<void> Reporter::look() {
    const std::vector<LockKey> keys = ledger_.take_wanted(keys_at_once);
    std::vector<Request> requests;
    for (const LockKey& key : keys) {
        requests.emplace_back(Holders{key});
        requests.emplace_back(
            History{.key = key, .limit = std::min(past_of_key, limits_.page_rows)});
    }
    AnswerAllowance unlimited;
    std::vector<Outcome> outcomes =
        co_await store_.ask_all(std::move(requests), unlimited, Recipient::nobody);
    const auto failed = [](const Outcome& one) { return std::holds_alternative<StoreFault>(one); };
    if (std::ranges::any_of(outcomes, failed)) {
        for (const LockKey& key : keys) ledger_.want(key);
        next_look_ = Clock::now() + options_.events_poll;
        co_return;
    }
    learnt_at_ = Clock::now();
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto live = answer_of<HolderPage>(outcomes[2 * i]);
        auto past = answer_of<HistoryPage>(outcomes[2 * i + 1]);
        store_now_ = past.store_now;
        ledger_.looked(keys[i], live, std::move(past.items), store_now_);
    }
}

Time Reporter::store_time() const {
    return store_now_ + std::chrono::duration_cast<Duration>(Clock::now() - learnt_at_);
}

Clock::time_point Reporter::next_step() const {
    if (ledger_.wants()) return std::min(next_survey_, next_look_);
    const auto expiry = ledger_.next_expiry();
    if (!expiry) return next_survey_;
    const Duration left = std::min<Duration>(*expiry - store_time(), options_.events_poll);
    return std::min(next_survey_, Clock::now() + left + behind_the_expiry);
}

Task<void> Reporter::pause() {
    timer_.expires_at(next_step());
    boost::system::error_code ignored;
    co_await timer_.async_wait(asio::redirect_error(use_task, ignored));
}

}  // namespace leasehold::server
