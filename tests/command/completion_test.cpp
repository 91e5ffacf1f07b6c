#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "command/host.hpp"

// The completions that the shells themselves offer at the end of a line.
namespace leasehold::command {
namespace {

using Words = std::set<std::string>;

class Shell {
public:
    explicit Shell(std::string name) : name_{std::move(name)} {
        std::ofstream{script_} << leasehold({"completion", name_}).output;
    }

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::string script() const { return script_.string(); }

    [[nodiscard]] Words offers(const std::string& line) const {
        const auto answer = testing::run({.arguments = asking(line)}, std::chrono::seconds{60});
        EXPECT_EQ(answer.exit_code, 0) << answer.output;
        Words words;
        std::istringstream lines{answer.output};
        for (std::string one; std::getline(lines, one);) {
            const std::string word = one.substr(0, one.find('\t'));  // fish explains it
            if (!word.empty()) words.insert(word);
        }
        return words;
    }

private:
    [[nodiscard]] std::vector<std::string> asking(const std::string& line) const {
        if (name_ == "zsh") {
            return {LEASEHOLD_SOURCES "/tests/command/zsh_offers", folder_.path().string(), line};
        }
        if (name_ == "fish") {
            return {"fish", "-c", "source $argv[1]; complete -C $argv[2]", script_.string(), line};
        }
        return {"bash", "-c",
                "source \"$0\"; read -ra COMP_WORDS <<< \"$1\"; "
                "[[ $1 != *' ' ]] || COMP_WORDS+=(''); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
                "_leasehold; printf '%s\\n' \"${COMPREPLY[@]}\"",
                script_.string(), line};
    }

    std::string name_;
    testing::TemporaryFolder folder_;
    std::filesystem::path script_ = folder_.path() / "_leasehold";
};

class Completion : public ::testing::Test {
protected:
    void expect(const std::string& line, const Words& words) const {
        for (const Shell& shell : shells_) {
            EXPECT_EQ(shell.offers(line), words) << shell.name() << ": " << line;
        }
    }

    const std::array<Shell, 3> shells_{Shell{"bash"}, Shell{"zsh"}, Shell{"fish"}};
};

TEST_F(Completion, OffersCommandsAndTheirOptions) {
    expect("leasehold rel", {"release", "release-all"});
    expect("leasehold --st", {"--store"});
    expect("leasehold --store x rel", {"release", "release-all"});
    expect("leasehold run --at", {"--at-least-for"});
    expect("leasehold --store x try --sh", {"--shared"});
    expect("leasehold try Order/1 --sh", {"--shared"});
    expect("leasehold completion f", {"fish"});
}

TEST_F(Completion, OffersNothingWhereOnlyTheUserKnows) {
    expect("leasehold try --owner ", {});
    expect("leasehold serve --port ", {});
}

TEST_F(Completion, OffersTheValuesOfAnOptionThatHasFew) {
    expect("leasehold serve --log-level ", {"debug", "info", "warning", "error"});
    expect("leasehold serve --log-format t", {"text"});
    expect("leasehold serve --allow-endless ", {"true", "false"});
    expect("leasehold serve --max-hold ", {"none"});
}

TEST_F(Completion, KeepsAFileNameWithSpacesInOnePiece) {
    const testing::TemporaryFolder folder;
    const std::string start = (folder.path() / "two").string();
    std::ofstream{start + " words"} << "x";
    EXPECT_EQ(shells_[0].offers("leasehold check --lock-id-file " + start),
              Words{start + " words"});
    // With this, bash escapes the space as it completes the line.
    EXPECT_NE(content_of(shells_[0].script()).find("compopt -o filenames"), std::string::npos);
}

TEST_F(Completion, OffersFilesWhereOneIsNamed) {
    const std::filesystem::path file{LEASEHOLD_SOURCES "/CMakeLists.txt"};
    for (const std::string option : {"serve --tokens", "serve --tls-key", "token a --token-file",
                                     "serve --config", "check --lock-id-file"}) {
        const std::string line = "leasehold " + option + " " LEASEHOLD_SOURCES "/CMakeLists";
        for (const Shell& shell : shells_) {
            const auto& word = shell.name() == "zsh" ? file.filename() : file;
            EXPECT_EQ(shell.offers(line), Words{word.string()}) << shell.name() << ": " << line;
        }
    }
}

TEST_F(Completion, LeavesTheCommandThatIsRunToItsOwnCompletion) {
    for (const Shell& shell : shells_) {
        // bash has one only together with the package bash-completion.
        const Words words = shell.name() == "bash" ? Words{} : Words{"--almost-all"};
        EXPECT_EQ(shell.offers("leasehold run nightly -- ls --alm"), words) << shell.name();
    }
}

}  // namespace
}  // namespace leasehold::command
