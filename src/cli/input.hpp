#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include <leasehold/language.hpp>
#include <leasehold/lock_id.hpp>
#include <leasehold/lock_key.hpp>
#include <leasehold/time.hpp>

// Reads what a person writes on the command line.
namespace leasehold::cli {

// "250ms", "90s", "1h30m": whole numbers with units, the larger first.
[[nodiscard]] std::expected<Duration, std::string> parse_duration(std::string_view text);

// "1h30m", "45s", "250ms": at most two units, rounded down. In English as an option takes it.
[[nodiscard]] std::string in_words(Duration duration, Language language = Language::english);

// "TYPE/ID", split at the first slash; a name without one is a key of DistLock's type. With a type,
// the whole text is the id. Throws BadRequest.
[[nodiscard]] LockKey key_from(std::string_view text, const std::string& type);

// Where a lock id can come from.
struct LockIdSource {
    std::string option{};  // the id itself, or "-" for a line of standard input
    std::string file{};
};

// From the file, the option, or the environment variable LEASEHOLD_LOCK_ID. Throws BadRequest.
[[nodiscard]] LockId lock_id_from(const LockIdSource& source);

// "user@host"
[[nodiscard]] std::string who_we_are();

}  // namespace leasehold::cli
