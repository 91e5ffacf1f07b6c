#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

namespace leasehold::server {

// Counts the connections of a server. A client is known once it has shown a valid token; without
// tokens, once it was answered. All other clients are strangers. Thread-safe.
//
// Neither can shut out the other: a quarter of all connections is only for known clients, and
// strangers can always have a sixteenth, because every known client begins as one.
class Connections {
public:
    // `most` connections at once.
    explicit Connections(std::size_t most) : most_{std::max<std::size_t>(most, 1)} {}

    // One connection, from its acceptance to its end.
    class Counted {
    public:
        explicit Counted(Connections& connections) : connections_{&connections} {
            ++connections.all_;
            ++connections.strangers_;
        }
        Counted(Counted&& other) noexcept
            : connections_{std::exchange(other.connections_, nullptr)}, known_{other.known_} {}
        Counted& operator=(Counted&&) = delete;
        ~Counted() { end(); }

        void become_known() noexcept {
            if (connections_ != nullptr && !std::exchange(known_, true)) --connections_->strangers_;
        }
        // Ends the connection's count before the connection itself.
        void end() noexcept {
            if (connections_ == nullptr) return;
            become_known();
            --std::exchange(connections_, nullptr)->all_;
        }

    private:
        Connections* connections_;
        bool known_ = false;
    };

    [[nodiscard]] std::size_t all() const noexcept { return all_; }
    [[nodiscard]] bool full() const noexcept { return all_ >= most_; }
    // Whether another stranger needs the place of one that is there.
    [[nodiscard]] bool full_of_strangers() const noexcept {
        return strangers_ >= most_ - most_ / 4;
    }
    // Whether strangers have more than their sixteenth.
    [[nodiscard]] bool has_many_strangers() const noexcept { return strangers_ > most_ / 16; }

private:
    const std::size_t most_;
    std::atomic<std::size_t> all_{0};
    std::atomic<std::size_t> strangers_{0};
};

}  // namespace leasehold::server
