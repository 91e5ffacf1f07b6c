#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace leasehold::conformance {

// Calls `run` with every order in which the steps of several sessions can follow each other. The
// steps of one session stay in their order. An order names the session of each step.
inline void for_every_order(const std::vector<std::size_t>& steps_of_session,
                            const std::function<void(const std::vector<std::size_t>&)>& run) {
    std::vector<std::size_t> left = steps_of_session;
    std::vector<std::size_t> order;
    const std::function<void()> go_on = [&] {
        bool complete = true;
        for (std::size_t session = 0; session < left.size(); ++session) {
            if (left[session] == 0) continue;
            complete = false;
            --left[session];
            order.push_back(session);
            go_on();
            order.pop_back();
            ++left[session];
        }
        if (complete) run(order);
    };
    go_on();
}

}  // namespace leasehold::conformance
