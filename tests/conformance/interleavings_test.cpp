#include <algorithm>
#include <array>
#include <variant>

#include "conformance/conformance.hpp"
#include "conformance/merges.hpp"
#include "conformance/reference_model.hpp"

// The steps of two or three sessions in every order, around expiry, take-over, release and break.
// After every step, the answer and the holders are those of the model.
namespace leasehold::conformance {
namespace {

// Expiries are at 15, 25, ... minutes and time passes in steps of ten, so no step is close to an
// expiry.
constexpr Duration ttl = 15min;

struct Session {
    std::string owner;
    LockId lock_id = LockId::random();
    LockId second_id = LockId::random();
    Fence fence = 0;  // of the lease it was granted last
};

// Every order has two keys of its own.
struct Stage {
    LockKey key;
    LockKey second_key;
    std::vector<Session> sessions;
};

struct Step {
    std::string name;
    // A request, or time that passes.
    std::variant<std::function<Request(const Stage&, const Session&)>, Duration> what;
};

using Script = std::vector<Step>;

Step asks(std::string name, std::function<Request(const Stage&, const Session&)> request) {
    return {std::move(name), std::move(request)};
}

Step tries(Mode mode = Mode::exclusive) {
    return asks(std::string{"tries "} + to_string(mode), [mode](const Stage& stage,
                                                                const Session& me) {
        return TryLock{
            .key = stage.key, .lock_id = me.lock_id, .owner = me.owner, .mode = mode, .ttl = ttl};
    });
}
Step tries_anew() {
    return asks("tries anew", [](const Stage& stage, const Session& me) {
        return TryLock{.key = stage.key, .lock_id = me.second_id, .owner = me.owner, .ttl = ttl};
    });
}
Step revives() {
    return asks("revives", [](const Stage& stage, const Session& me) {
        return TryLock{.key = stage.key,
                       .lock_id = me.second_id,
                       .owner = me.owner,
                       .ttl = ttl,
                       .since = me.fence};
    });
}
Step tries_both() {
    return asks("tries both keys", [](const Stage& stage, const Session& me) {
        return TryLockAll{.keys = {stage.key, stage.second_key},
                          .lock_ids = {me.lock_id, me.second_id},
                          .owner = me.owner,
                          .ttl = ttl};
    });
}
Step checks() {
    return asks("checks",
                [](const Stage& stage, const Session& me) { return Check{stage.key, me.lock_id}; });
}
Step checks_without_key() {
    return asks("checks by lock id",
                [](const Stage&, const Session& me) { return Check{std::nullopt, me.lock_id}; });
}
Step extends() {
    return asks("extends", [](const Stage& stage, const Session& me) {
        return Extend{stage.key, me.lock_id, 10min, 65min, {}};
    });
}
Step renews() {
    return asks("renews", [](const Stage& stage, const Session& me) {
        return Renew{stage.key, me.lock_id, ttl, {}};
    });
}
Step releases() {
    return asks("releases", [](const Stage& stage, const Session& me) {
        return Release{stage.key, me.lock_id};
    });
}
Step releases_all() {
    return asks("releases all", [](const Stage&, const Session& me) {
        return ReleaseAll{me.owner, OwnerScope::below, {}};
    });
}
// Breaks the lease that another session was granted last, as an administrator would have seen it.
Step breaks(std::size_t whose) {
    return asks("breaks " + std::to_string(whose), [whose](const Stage& stage, const Session&) {
        return leasehold::Break{stage.key, stage.sessions[whose].fence, "admin", "because"};
    });
}
Step time_passes(Duration duration) {
    return {"time passes", duration};
}

class Interleavings : public ConformanceTest {
protected:
    void play_in_every_order(const std::vector<Script>& scripts) {
        std::vector<std::size_t> lengths;
        while (handles_.size() < scripts.size()) handles_.push_back(harness().open());
        for (const Script& script : scripts) lengths.push_back(script.size());
        for_every_order(lengths, [&](const std::vector<std::size_t>& order) {
            if (!HasFatalFailure()) play(scripts, order);
        });
    }

private:
    void play(const std::vector<Script>& scripts, const std::vector<std::size_t>& order) {
        const std::string number = std::to_string(++stages_);
        Stage stage{{"Stage", number}, {"Stage", number + " second"}, {}};
        for (std::size_t i = 0; i < scripts.size(); ++i) {
            stage.sessions.push_back({"session " + number + "/" + std::to_string(i)});
        }
        ReferenceModel model{std::chrono::hours{24}};
        std::vector<std::size_t> at(scripts.size());
        std::string story;
        for (const std::size_t turn : order) {
            const Step& step = scripts[turn][at[turn]++];
            story += std::to_string(turn) + " " + step.name + "\n";
            if (const auto* duration = std::get_if<Duration>(&step.what)) {
                harness().let_pass(*duration);
                model.let_pass(*duration);
            } else {
                const auto& request = std::get<0>(step.what);
                const Outcome outcome =
                    ask(turn, request(stage, stage.sessions[turn]), model, story);
                if (const auto* lease = std::get_if<Lease>(&outcome)) {
                    if (!lease->lock_id.is_nil()) stage.sessions[turn].fence = lease->fence;
                }
            }
            if (HasFatalFailure()) return;
            expect_exclusion(turn, stage, model, story);
        }
        // A dead lease stays dead, and a repeated request settles a lost answer.
        for (std::size_t i = 0; i < scripts.size(); ++i) {
            story += std::to_string(i) + " asks once more\n";
            const Session& session = stage.sessions[i];
            (void)ask(i, Check{stage.key, session.lock_id}, model, story);
            (void)ask(i,
                      TryLock{.key = stage.key,
                              .lock_id = session.lock_id,
                              .owner = session.owner,
                              .ttl = ttl},
                      model, story);
            (void)ask(i, ReleaseAll{session.owner, OwnerScope::exact, {}}, model, story);
        }
    }

    Outcome ask(std::size_t session, const Request& request, ReferenceModel& model,
                const std::string& story) {
        Outcome outcome;
        handles_[session]->apply({&request, 1}, {&outcome, 1});
        expect_judged(request, outcome, model, story);
        return outcome;
    }

    void expect_exclusion(std::size_t session, const Stage& stage, ReferenceModel& model,
                          const std::string& story) {
        const std::array<Request, 2> requests{Holders{stage.key}, Holders{stage.second_key}};
        std::array<Outcome, 2> outcomes;
        handles_[session]->apply(requests, outcomes);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            expect_judged(requests[i], outcomes[i], model, story);
            if (HasFatalFailure()) return;
            const auto& holders = std::get<HolderPage>(outcomes[i]);
            const auto writers = std::ranges::count(holders, Mode::exclusive, &Holder::mode);
            if (writers > 1 || (writers == 1 && holders.size() > 1)) {
                fail("two hold the key in\n" + story);
            }
        }
    }

    static void expect_judged(const Request& request, const Outcome& outcome, ReferenceModel& model,
                              const std::string& story) {
        const std::string difference = model.judge(request, outcome);
        if (!difference.empty()) fail(difference + " in\n" + story);
    }

    static void fail(const std::string& what) { FAIL() << what; }

    std::vector<std::unique_ptr<Store>> handles_;
    int stages_ = 0;
};

TEST_P(Interleavings, OfATakeOverAndALateHolder) {
    play_in_every_order({{tries(), time_passes(20min), checks(), releases()},
                         {tries(), checks_without_key(), releases()}});
}

TEST_P(Interleavings, OfARenewalAndATakeOver) {
    play_in_every_order({{tries(), time_passes(10min), renews(), time_passes(10min), checks()},
                         {tries(), checks(), releases()}});
}

TEST_P(Interleavings, OfAnExtensionAndATakeOver) {
    play_in_every_order({{tries(), extends(), time_passes(20min), extends()},
                         {tries(), time_passes(20min), releases()}});
}

TEST_P(Interleavings, OfAReleaseTwiceAndANewHolder) {
    play_in_every_order(
        {{tries(), releases(), tries(), releases()}, {tries(), releases(), tries()}});
}

TEST_P(Interleavings, OfALostAnswerAskedForAgain) {
    play_in_every_order(
        {{tries(), tries(), tries_anew(), releases()}, {time_passes(20min), tries(), releases()}});
}

TEST_P(Interleavings, OfARevivalAndALaterHolder) {
    play_in_every_order(
        {{tries(), time_passes(20min), revives(), releases()}, {tries(), releases(), revives()}});
}

TEST_P(Interleavings, OfABreakAHolderAndTheNext) {
    play_in_every_order(
        {{tries(), renews(), checks()}, {breaks(0), breaks(2)}, {tries(), releases()}});
}

TEST_P(Interleavings, OfABreakAndAnExpiry) {
    play_in_every_order({{tries(), time_passes(20min), renews()}, {breaks(0), tries(), breaks(0)}});
}

TEST_P(Interleavings, OfTwoReadersAndOneWhoWantsToWrite) {
    play_in_every_order({{tries(Mode::shared), tries(Mode::exclusive), tries(Mode::shared)},
                         {tries(Mode::shared), releases()},
                         {tries(Mode::exclusive), releases()}});
}

TEST_P(Interleavings, OfReadersThatExpireBesideEachOther) {
    play_in_every_order({{tries(Mode::shared), time_passes(10min), tries(Mode::exclusive)},
                         {tries(Mode::shared), time_passes(10min), checks()},
                         {tries(Mode::shared)}});
}

TEST_P(Interleavings, OfTwoWhoWantBothKeys) {
    play_in_every_order(
        {{tries_both(), checks(), releases_all()}, {tries(), tries_both(), releases_all()}});
}

TEST_P(Interleavings, OfTwoWhoWantBothKeysAroundAnExpiry) {
    play_in_every_order(
        {{tries_both(), time_passes(20min), tries_both()}, {tries_both(), releases(), checks()}});
}

TEST_P(Interleavings, OfAllLeasesOfAnOwnerReleasedAndATakeOver) {
    play_in_every_order({{tries(), releases_all(), checks()},
                         {time_passes(20min), tries()},
                         {tries_both(), releases_all()}});
}

LEASEHOLD_ON_EVERY_STORE(Interleavings);

}  // namespace
}  // namespace leasehold::conformance
