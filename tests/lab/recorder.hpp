#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <leasehold/store.hpp>

namespace leasehold::lab {

// A file of history lines. A line is in the file before the call returns, so killing this process
// loses none of them. Thread-safe.
class Recorder {
public:
    explicit Recorder(const std::filesystem::path& file);
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;
    ~Recorder();

    void write(const std::string& lines) const;
    // Reserves numbers for this many operations, and returns the first.
    std::uint64_t take_numbers(std::size_t count) { return next_.fetch_add(count); }

private:
    const int file_;
    std::atomic<std::uint64_t> next_{1};
};

// Records everything that a store is asked and answers: one line before the request is sent,
// another when the answer has come.
class RecordingStore final : public Store {
public:
    RecordingStore(std::unique_ptr<Store> store, std::shared_ptr<Recorder> recorder,
                   std::string client);

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override;
    [[nodiscard]] std::size_t concurrency() const noexcept override {
        return store_->concurrency();
    }
    [[nodiscard]] StoreStatus status() override { return store_->status(); }

private:
    void note_answers(std::uint64_t first, std::span<const Outcome> outcomes,
                      const StoreFault* fault);

    const std::unique_ptr<Store> store_;
    const std::shared_ptr<Recorder> recorder_;
    const std::string client_;
};

}  // namespace leasehold::lab
