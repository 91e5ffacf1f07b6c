// Answers have a budget, as requests have one: what an authorised client asks for never makes
// others wait or lose a lease.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "hostile/hostile.hpp"

namespace leasehold::hostile {
namespace {

class Answers : public HostileTest {};
LEASEHOLD_HOSTILE(Answers);

std::string refused_try() {
    return R"({"op":"try","type":"Shared","id":"1","owner":"attacker"})";
}

// Named in full, the holders would make each of these answers larger than 100 MB.
TEST_P(Answers, AHolderRenewsWhileOthersSendBatchesOfRefusedTries) {
    constexpr std::size_t readers = 1000;
    constexpr int attackers = 4;
    constexpr int batches_each = 2;
    const auto server = start({.threads = 2});
    const std::size_t budget = server::ServerOptions{}.answer_bytes;
    Client holder = server->connect();
    const Answer lease =
        holder.ask("POST", "/v1/locks/Order/1", R"({"owner":"holder","ttl_ms":60000})");
    ASSERT_EQ(lease.status, 201U);
    share_among(holder, readers);

    const std::vector<std::string> tries(100, refused_try());
    std::atomic<int> batches{0};
    std::vector<std::jthread> running;
    for (int i = 0; i < attackers; ++i) {
        running.emplace_back([&] {
            Client client = server->connect();
            for (int n = 0; n < batches_each; ++n) {
                const Answer answer = client.ask("POST", "/v1/batch", batch_of(tries));
                EXPECT_EQ(answer.status, 200U);
                EXPECT_LE(answer.body.size(), 2 * budget);
                const auto body = answer.json();
                const auto& last = body.at("answers").as_array().back().at("refused");
                EXPECT_EQ(last.at("holders_in_all").as_int64(), readers);
                ++batches;
            }
        });
    }
    int renewals = 0;
    while (batches < attackers * batches_each && !HasFailure()) {
        const Answer renewed =
            holder.ask("PATCH", "/v1/locks/Order/1", R"({"ttl_ms":60000})", lock_token_of(lease));
        EXPECT_EQ(renewed.status, 200U) << renewed.body;
        ++renewals;
    }
    // A renewal waits for a part of a batch, not for a batch of each attacker.
    EXPECT_GE(renewals, attackers * batches_each);
}

TEST_P(Answers, ABatchOfRefusedTriesIsAnsweredWithinItsBudget) {
    constexpr std::size_t readers = 40;
    constexpr std::size_t budget = 64 * 1024;
    const auto server = start({.answer_bytes = budget});
    Client client = server->connect();
    share_among(client, readers);
    const std::vector<std::string> tries(100, refused_try());
    const Answer answer = client.ask("POST", "/v1/batch", batch_of(tries));
    ASSERT_EQ(answer.status, 200U);
    EXPECT_LE(answer.body.size(), budget + tries.size() * 512);
    const auto body = answer.json();
    const auto& answers = body.at("answers").as_array();
    ASSERT_EQ(answers.size(), tries.size());
    const auto& first = answers.front().at("refused");
    EXPECT_GE(first.at("holders").as_array().size(), 1U);
    const auto& last = answers.back().at("refused");
    EXPECT_TRUE(last.at("holders").as_array().empty());
    for (const auto& one : answers) {
        EXPECT_EQ(one.at("refused").at("code").as_string(), "held");
        EXPECT_EQ(one.at("refused").at("holders_in_all").as_int64(), readers);
    }
}

TEST_P(Answers, PagesThatDoNotFitIntoTheAnswerOfABatchAreFaultsWithoutEffect) {
    const auto server = start({.answer_bytes = 64 * 1024});
    Client client = server->connect();
    share_among(client, 30);
    std::vector<std::string> requests(3, R"({"op":"holders","type":"Shared","id":"1"})");
    requests.push_back(R"({"op":"try","type":"Order","id":"1","owner":"me"})");
    const Answer answer = client.ask("POST", "/v1/batch", batch_of(requests));
    ASSERT_EQ(answer.status, 200U);
    const auto body = answer.json();
    const auto& answers = body.at("answers").as_array();
    EXPECT_TRUE(answers[0].as_object().contains("holders"));
    for (const std::size_t i : {1U, 2U}) {
        EXPECT_EQ(answers[i].at("fault").at("effect").as_string(), "none");
    }
    EXPECT_TRUE(answers[3].as_object().contains("lease"));
}

// Lists of a token for some keys are made of several pages, and count like all other lists.
TEST_P(Answers, TheBudgetOfABatchIsTheSameForATokenOfSomeKeys) {
    constexpr std::size_t budget = 64 * 1024;
    server::Token some = token("some", {server::Role::use, server::Role::see});
    for (const auto role : {server::Role::use, server::Role::see}) {
        some.keys.limit(role, KeySet{{KeyPattern::parse("Shared/*").value()}});
    }
    const auto server = start({.answer_bytes = budget, .tokens = tokens({some})});
    Client client = server->connect();
    share_among(client, 40, shows("some"));
    const std::vector<std::string> lists(8, R"({"op":"list","limit":1000})");
    const Answer answer = client.ask("POST", "/v1/batch", batch_of(lists), shows("some"));
    ASSERT_EQ(answer.status, 200U) << answer.body;
    EXPECT_LE(answer.body.size(), budget + lists.size() * 512);
    const auto body = answer.json();
    for (const auto& one : body.at("answers").as_array()) {
        if (one.as_object().contains("holders")) continue;
        EXPECT_EQ(one.at("fault").at("effect").as_string(), "none");
    }
    std::vector<std::string> mixed(3, R"({"op":"list","limit":15})");
    mixed.insert(mixed.begin(), refused_try());
    const Answer some_rows = client.ask("POST", "/v1/batch", batch_of(mixed), shows("some"));
    ASSERT_EQ(some_rows.status, 200U) << some_rows.body;
    EXPECT_TRUE(some_rows.json().at("answers").at(1).as_object().contains("holders"));
}

// JSON needs six bytes for a tab.
std::string tabs(std::size_t number) {
    std::string text;
    while (number-- > 0) text += R"(\t)";
    return text;
}

TEST_P(Answers, KnocksDoNotMultiplyTheAnswersToAHolder) {
    const auto server = start();
    Client client = server->connect();
    const Answer lease = client.ask("POST", "/v1/locks/Order/1", R"({"owner":"holder"})");
    ASSERT_EQ(lease.status, 201U);
    constexpr int knocks = 10;
    for (int i = 0; i < knocks; ++i) {
        const Answer knocked = client.ask(
            "POST", "/v1/locks/Order/1/knock",
            R"({"owner":")" + padded("attacker-" + std::to_string(i), Limits::owner_bytes) +
                R"(","message":")" + tabs(Limits::note_bytes) + R"("})");
        ASSERT_EQ(knocked.status, 202U) << knocked.body;
    }
    const Answer checked = client.ask("GET", "/v1/locks/Order/1", {}, lock_token_of(lease));
    EXPECT_LE(checked.body.size(), 10U * 1024);
    const auto one = checked.json();
    EXPECT_EQ(one.at("knocks_in_all").as_int64(), knocks);
    ASSERT_FALSE(one.at("knocks").as_array().empty());
    EXPECT_TRUE(one.at("knocks").as_array().back().at("by").as_string().starts_with("attacker-9"));

    const std::string lock_id{lease.json().at("lock_id").as_string()};
    const std::vector<std::string> renewals(
        1024,
        R"({"op":"renew","type":"Order","id":"1","ttl_ms":60000,"lock_id":")" + lock_id + "\"}");
    const Answer answer = client.ask("POST", "/v1/batch", batch_of(renewals));
    ASSERT_EQ(answer.status, 200U);
    EXPECT_LE(answer.body.size(), 64 * 1024 + renewals.size() * 512);
    const auto body = answer.json();
    for (const auto& renewed : body.at("answers").as_array()) {
        EXPECT_EQ(renewed.at("lease").at("knocks_in_all").as_int64(), knocks);
    }
}

TEST_P(Answers, AreCountedAsTheyArePrinted) {
    constexpr std::size_t budget = 64 * 1024;
    const auto server = start({.answer_bytes = budget});
    Client client = server->connect();
    constexpr int leases = 60;
    for (int i = 0; i < leases; ++i) {
        const Answer taken =
            client.ask("POST", "/v1/locks/Order/" + std::to_string(i),
                       R"({"owner":"me","note":")" + tabs(Limits::note_bytes) + R"("})");
        ASSERT_EQ(taken.status, 201U) << taken.body;
    }
    const Answer page = client.ask("GET", "/v1/locks?limit=1000");
    EXPECT_LE(page.body.size(), Limits::page_bytes + leases * 512);
    EXPECT_TRUE(page.json().at("next").is_string());
    const std::vector<std::string> requests(leases, R"({"op":"list","limit":1})");
    const Answer batch = client.ask("POST", "/v1/batch", batch_of(requests));
    EXPECT_LE(batch.body.size(), budget + requests.size() * 512);
}

TEST_P(Answers, TheHoldersThatABatchAsksForCountAsPages) {
    const auto server = start();
    Client client = server->connect();
    std::vector<std::string> requests(16, R"({"op":"holders","type":"Shared","id":"1"})");
    EXPECT_EQ(client.ask("POST", "/v1/batch", batch_of(requests)).status, 200U);
    requests.push_back(requests.front());
    const Answer refused = client.ask("POST", "/v1/batch", batch_of(requests));
    EXPECT_EQ(refused.status, 400U) << refused.body;
    EXPECT_EQ(refused.json().at("index").as_int64(), 16);
}

TEST_P(Answers, AReleaseOfManyLeasesNamesSomeOfThemAndCountsAll) {
    constexpr std::size_t budget = 64 * 1024;
    constexpr int leases = 100;
    const auto server = start({.answer_bytes = budget});
    Client client = server->connect();
    const auto take_many = [&] {
        std::vector<std::string> tries;
        for (int i = 0; i < leases; ++i) {
            tries.push_back(R"({"op":"try","type":"Order","owner":"me","id":")" +
                            std::to_string(i) + R"(","note":")" + padded("", Limits::note_bytes) +
                            R"("})");
        }
        ASSERT_EQ(client.ask("POST", "/v1/batch", batch_of(tries)).status, 200U);
        ASSERT_EQ(server->locks().list().size(), leases);
    };
    take_many();
    const Answer one = client.ask("DELETE", "/v1/owners/me/locks");
    EXPECT_EQ(one.status, 200U);
    EXPECT_LE(one.body.size(), budget + 512);
    EXPECT_FALSE(one.json().at("leases").as_array().empty());
    EXPECT_EQ(one.json().at("leases_in_all").as_int64(), leases);
    EXPECT_TRUE(server->locks().list().empty());

    take_many();
    const Answer batch = client.ask(
        "POST", "/v1/batch", batch_of({R"({"op":"release_all","owner":"me"})", refused_try()}));
    EXPECT_LE(batch.body.size(), budget + 2 * 512);
    EXPECT_EQ(batch.json().at("answers").at(0).at("leases_in_all").as_int64(), leases);
    EXPECT_TRUE(batch.json().at("answers").at(1).as_object().contains("lease"));
    EXPECT_EQ(server->locks().list().size(), 1U);

    take_many();
    LockManager remote{open_store("http://127.0.0.1:" + std::to_string(server->port()))};
    const auto named = remote.release_all("me");
    EXPECT_FALSE(named->empty());
    EXPECT_LT(named->size(), leases);
    EXPECT_EQ(server->locks().list().size(), 1U);
}

// The server remembers thousands of refused tries, with the longest of texts.
TEST_P(Answers, AListOfRefusedTriesEndsLikeAPage) {
    const auto server = start();
    Client client = server->connect();
    constexpr int keys = 300;
    const auto tries = [&](const std::string& owner) {
        std::vector<std::string> requests;
        for (int i = 0; i < keys; ++i) {
            requests.push_back(R"({"op":"try","type":"Order","id":")" +
                               padded(std::to_string(i), Limits::id_bytes) + R"(","owner":")" +
                               padded(owner, Limits::owner_bytes) + R"("})");
        }
        return batch_of(requests);
    };
    for (const char* owner : {"holder", "attacker"}) {
        ASSERT_EQ(client.ask("POST", "/v1/batch", tries(owner)).status, 200U);
    }
    for (const char* limit : {"1000", "1000000000"}) {
        const Answer answer = client.ask("GET", std::string{"/v1/refused?limit="} + limit);
        EXPECT_EQ(answer.status, 200U);
        EXPECT_FALSE(answer.json().at("refused").as_array().empty());
        EXPECT_LE(answer.body.size(), Limits::page_bytes + Limits::page_bytes / 4);
    }
}

TEST_P(Answers, TheKeysOfABatchAreBounded) {
    const auto server = start({.batch_requests = 300});
    std::vector<std::string> requests;
    for (const char* type : {"A", "B"}) {
        std::string all = R"({"op":"try_all","owner":"me","keys":[)";
        for (int i = 0; i < 200; ++i) {
            all += (i > 0 ? R"(,{"type":")" : R"({"type":")") + std::string{type} + R"(","id":")" +
                   std::to_string(i) + R"("})";
        }
        requests.push_back(all + "]}");
    }
    Client client = server->connect();
    const Answer answer = client.ask("POST", "/v1/batch", batch_of(requests));
    EXPECT_EQ(answer.status, 400U) << answer.body;
    EXPECT_EQ(answer.json().at("index").as_int64(), 1);
}

TEST_P(Answers, WaitersThatTimeOutTogetherGetSmallAnswers) {
    constexpr std::size_t waiters = 30;
    const auto server = start();
    Client client = server->connect();
    share_among(client, 40);
    std::vector<Client> waiting;
    for (std::size_t i = 0; i < waiters; ++i) {
        waiting.push_back(server->connect());
        waiting.back().send(testing::message("POST", "/v1/locks/Shared/1",
                                             R"({"owner":"attacker","wait_ms":300})"));
    }
    for (Client& one : waiting) {
        const Answer answer = one.receive();
        EXPECT_EQ(answer.status, 409U);
        EXPECT_LE(answer.body.size(), 3 * Limits::named_holders_bytes);
        EXPECT_EQ(answer.json().at("holders_in_all").as_int64(), 40);
    }
}

// A server for an attacker and a holder, and an attacker that asks for pages and reads none.
class UnreadAnswers : public Answers {
protected:
    static constexpr std::size_t page = 100 * 1024;  // at least, of the readers below
    static constexpr auto a_page = "/v1/locks?type=Shared&limit=1000";

    // The clients ask all at once. Some are refused then, because a page counts in full until it is
    // printed, so not all of them keep an answer.
    void ask_without_reading(std::size_t clients, std::string_view who) {
        // More than the system keeps for a client that does not read.
        std::string requests;
        for (int i = 0; i < 8; ++i) {
            requests += testing::message("GET", "/v1/locks/Shared/1", {}, shows(who));
        }
        const std::size_t before = unread_.size();
        for (std::size_t i = 0; i < clients; ++i) unread_.push_back(server_->connect());
        for (std::size_t i = before; i < unread_.size(); ++i) unread_[i].send(requests);
    }
    // More and more clients ask and do not read, until this request for rows is refused. A number
    // that is fixed beforehand would not do, because it is not known how many of them are refused.
    [[nodiscard]] bool has_no_more_room(std::string_view who, const std::string& rows = a_page) {
        ask_without_reading(8, who);
        return testing::eventually([&] {
            if (status_of(rows, who) == 429U) return true;
            ask_without_reading(1, who);
            return false;
        });
    }
    [[nodiscard]] unsigned status_of(const std::string& rows, std::string_view who) {
        return server_->connect().ask("GET", rows, {}, shows(who)).status;
    }

    std::unique_ptr<RunningServer> server_ =
        start({.answers_bytes = 4 * 1024 * 1024,
               .answers_bytes_per_token = 1024 * 1024,
               .tokens = tokens({token("attacker", {server::Role::use, server::Role::see}),
                                 token("second", {server::Role::use, server::Role::see}),
                                 token("third", {server::Role::use, server::Role::see}),
                                 token("fourth", {server::Role::use, server::Role::see}),
                                 token("fifth", {server::Role::use, server::Role::see}),
                                 token("holder", {server::Role::use, server::Role::see})})});

private:
    std::vector<Client> unread_;
};
LEASEHOLD_HOSTILE(UnreadAnswers);

TEST_P(UnreadAnswers, AreCountedForTheTokenAndInAll) {
    Client holder = server_->connect();
    const Answer lease =
        holder.ask("POST", "/v1/locks/Order/1", R"({"owner":"holder"})", shows("holder"));
    ASSERT_EQ(lease.status, 201U);
    Client readers = server_->connect();
    share_among(readers, 80, shows("attacker"));
    EXPECT_TRUE(has_no_more_room("attacker"));
    EXPECT_TRUE(has_no_more_room("attacker", "/v1/refused?limit=1000"));
    EXPECT_EQ(status_of(a_page, "second"), 200U);
    EXPECT_TRUE(has_no_more_room("second"));
    EXPECT_EQ(status_of(a_page, "holder"), 200U);
    // Requests that keep or end a lease are always answered.
    EXPECT_EQ(holder
                  .ask("PATCH", "/v1/locks/Order/1", R"({"ttl_ms":60000})",
                       lock_token_of(lease) + shows("holder"))
                  .status,
              200U);
    EXPECT_EQ(holder.ask("GET", "/healthz").status, 200U);
    EXPECT_EQ(holder.ask("DELETE", "/v1/locks/Order/1", {}, lock_token_of(lease) + shows("holder"))
                  .status,
              200U);
}

// Five tokens that read nothing ask for more than the room that there is.
TEST_P(UnreadAnswers, OfManyTokensLeaveRoomForOthers) {
    Client readers = server_->connect();
    share_among(readers, 80, shows("attacker"));
    for (const char* who : {"attacker", "second", "third", "fourth", "fifth"}) {
        ask_without_reading(8, who);
    }
    Client holder = server_->connect();
    for (int i = 0; i < 100; ++i) {
        const Answer answer = holder.ask("GET", "/v1/locks?limit=1000", {}, shows("holder"));
        ASSERT_EQ(answer.status, 200U) << i << answer.body;
        EXPECT_GT(answer.body.size(), page);
    }
}

TEST_P(UnreadAnswers, NeverKeepABatchFromRenewing) {
    Client client = server_->connect();
    const Answer lease =
        client.ask("POST", "/v1/locks/Order/1", R"({"owner":"attacker"})", shows("attacker"));
    ASSERT_EQ(lease.status, 201U);
    share_among(client, 80, shows("attacker"));
    ASSERT_TRUE(has_no_more_room("attacker"));
    const std::string lock_id{lease.json().at("lock_id").as_string()};
    const Answer batch =
        client.ask("POST", "/v1/batch",
                   batch_of({R"({"op":"list","type":"Shared","limit":1000})",
                             R"({"op":"renew","type":"Order","id":"1","ttl_ms":60000,"lock_id":")" +
                                 lock_id + "\"}"}),
                   shows("attacker"));
    ASSERT_EQ(batch.status, 200U) << batch.body;
    EXPECT_TRUE(batch.json().at("answers").at(1).as_object().contains("lease")) << batch.body;
}

// The bytes that the system keeps for the clients of a server, of the connection with the most.
std::size_t most_kept_by_system(std::uint16_t port) {
    std::ifstream table{"/proc/net/tcp"};
    std::string line;
    std::getline(table, line);
    std::size_t most = 0;
    while (std::getline(table, line)) {
        unsigned local_port = 0;
        std::size_t unsent = 0;
        if (std::sscanf(line.c_str(), " %*d: %*x:%x %*x:%*x %*x %zx:", &local_port, &unsent) == 2 &&
            local_port == port) {
            most = std::max(most, unsent);
        }
    }
    return most;
}

TEST(StrangersWhoDoNotRead, KeepLittleOfTheSystemsMemory) {
    constexpr std::size_t buffer = 64 * 1024;
    RunningServer server{memory::open(), {.send_buffer_bytes = buffer}};
    Client stranger = server.connect();
    for (int i = 0; i < 100; ++i) stranger.send(testing::message("GET", "/openapi.json"));
    ASSERT_TRUE(testing::eventually([&] { return most_kept_by_system(server.port()) > 0; }));
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
        // Twice what was asked for, and one segment.
        EXPECT_LE(most_kept_by_system(server.port()), 3 * buffer);
    }
}

}  // namespace
}  // namespace leasehold::hostile
