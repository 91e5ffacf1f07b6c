#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

namespace leasehold::server {

// A value for each of a small number of labels, made when the label is first used. Values are found
// without a lock, and are never removed. Thread-safe.
template <class Label, class Value, class Hash = std::hash<Label>>
class Labelled {
public:
    Labelled() = default;
    Labelled(const Labelled&) = delete;
    Labelled& operator=(const Labelled&) = delete;
    ~Labelled() {
        for (auto& first : buckets_) {
            for (Node* node = first.load(); node != nullptr;) {
                const std::unique_ptr<Node> freed{node};
                node = freed->next;
            }
        }
    }

    // Throws std::bad_alloc for a new label.
    [[nodiscard]] Value& operator[](const Label& label) {
        std::atomic<Node*>& first = buckets_[Hash{}(label) % buckets];
        Node* seen = first.load(std::memory_order_acquire);
        if (Node* const found = find(seen, label)) return found->value;
        auto node = std::make_unique<Node>(label);
        for (;;) {
            node->next = seen;
            if (first.compare_exchange_weak(seen, node.get(), std::memory_order_acq_rel)) {
                return node.release()->value;
            }
            // Another thread was faster, perhaps with the same label.
            if (Node* const found = find(seen, label)) return found->value;
        }
    }

    template <class Function>
    void for_each(Function function) const {
        for (const auto& first : buckets_) {
            for (const Node* node = first.load(std::memory_order_acquire); node != nullptr;
                 node = node->next) {
                function(node->label, node->value);
            }
        }
    }

private:
    static constexpr std::size_t buckets = 64;

    struct Node {
        explicit Node(const Label& of) : label{of} {}

        const Label label;
        Value value{};
        Node* next = nullptr;
    };

    static Node* find(Node* node, const Label& label) {
        while (node != nullptr && !(node->label == label)) node = node->next;
        return node;
    }

    std::array<std::atomic<Node*>, buckets> buckets_{};
};

}  // namespace leasehold::server
