#include "lab/simulated_server.hpp"

#include <utility>

namespace leasehold::lab {

SimulatedServer::SimulatedServer(Open open) : open_{std::move(open)} {
    connection_.store = open_();
}

bool SimulatedServer::submit(Request request, Batcher::Reply reply) {
    batcher_.submit(std::move(request), [this, reply = std::move(reply)](Outcome outcome) {
        answers_.push_back({reply, std::move(outcome)});
    });
    if (busy_) return false;
    return busy_ = batcher_.dispatch_one();
}

bool SimulatedServer::finish(Fate fate) {
    const std::vector<Answer> answers = std::exchange(answers_, {});
    if (fate == Fate::dies) connection_.store = open_();
    busy_ = batcher_.dispatch_one();
    if (fate == Fate::answers) {
        for (const Answer& answer : answers) answer.reply(answer.outcome);
    }
    return busy_;
}

}  // namespace leasehold::lab
