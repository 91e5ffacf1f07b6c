#include "lab/recorder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <system_error>
#include <utility>

#include "lab/history.hpp"

namespace leasehold::lab {

Recorder::Recorder(const std::filesystem::path& file)
    : file_{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {
    if (file_ < 0) throw std::system_error{errno, std::generic_category(), file.string()};
}

Recorder::~Recorder() {
    ::close(file_);
}

void Recorder::write(const std::string& lines) const {
    if (::write(file_, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) {
        throw std::system_error{errno, std::generic_category(), "the history cannot be written"};
    }
}

RecordingStore::RecordingStore(std::unique_ptr<Store> store, std::shared_ptr<Recorder> recorder,
                               std::string client)
    : store_{std::move(store)}, recorder_{std::move(recorder)}, client_{std::move(client)} {}

void RecordingStore::apply(std::span<const Request> requests, std::span<Outcome> outcomes) {
    const std::uint64_t first = recorder_->take_numbers(requests.size());
    std::ostringstream lines;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        write_call(lines, first + i,
                   {.client = client_, .request = requests[i], .called = SteadyClock::now()});
    }
    recorder_->write(std::move(lines).str());
    try {
        store_->apply(requests, outcomes);
    } catch (const StoreFault& fault) {
        note_answers(first, outcomes, &fault);
        throw;
    }
    note_answers(first, outcomes, nullptr);
}

void RecordingStore::note_answers(std::uint64_t first, std::span<const Outcome> outcomes,
                                  const StoreFault* fault) {
    const Instant now = SteadyClock::now();
    std::ostringstream lines;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const bool unanswered = std::holds_alternative<std::monostate>(outcomes[i]);
        if (unanswered && fault == nullptr) continue;
        write_return(lines, first + i,
                     {.request = Check{},
                      .returned = now,
                      .outcome = unanswered ? Outcome{*fault} : outcomes[i]});
    }
    recorder_->write(std::move(lines).str());
}

}  // namespace leasehold::lab
