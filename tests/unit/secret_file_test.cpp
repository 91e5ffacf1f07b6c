#include "core/secret_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <leasehold/errors.hpp>
#include <leasehold/open_store.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace leasehold::testing {
namespace {

namespace fs = std::filesystem;

class SecretFileTest : public ::testing::Test {
protected:
    SecretFileTest() {
        std::string name = (fs::temp_directory_path() / "leasehold-unit-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
        folder_ = name;
    }
    ~SecretFileTest() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder_ / name).string();
    }
    [[nodiscard]] std::string write(const std::string& name, const std::string& text,
                                    mode_t mode = 0600) const {
        std::ofstream{file(name)} << text;
        ::chmod(file(name).c_str(), mode);
        return file(name);
    }
    static std::string content(const std::string& path) {
        return read_regular_file(path, 1000).value_or("(none)");
    }
    static mode_t mode_of(const std::string& path) {
        struct stat about{};
        return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 07777U : 0;
    }
    // Somebody else's file that this test may name.
    [[nodiscard]] std::string foreign() const {
        if (::geteuid() != 0) return "/etc/passwd";
        constexpr uid_t somebody = 12345;
        const std::string path = write("foreign", "old\n", 0666);
        EXPECT_EQ(::chown(path.c_str(), somebody, somebody), 0);
        return path;
    }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator{folder_}, fs::directory_iterator{}));
    }

    fs::path folder_;
};

std::string refusal_of(const std::string& path) {
    try {
        SecretFile{{.what = "the file", .path = path}}.write("secret");
    } catch (const BadRequest& bad) {
        return bad.what();
    }
    return "";
}

TEST_F(SecretFileTest, IsWrittenForItsOwnerAlone) {
    const SecretFile secret{{.what = "the file", .path = file("new")}};
    EXPECT_EQ(files(), 0U);
    secret.write("secret");
    EXPECT_EQ(content(file("new")), "secret\n");
    EXPECT_EQ(mode_of(file("new")), 0600U);
    EXPECT_EQ(files(), 1U);
}

TEST_F(SecretFileTest, ReplacesAFileThatSomebodyMayHaveOpen) {
    const std::string path = write("wide", "old\n", 0644);
    std::ifstream reader{path};
    EXPECT_EQ(refusal_of(path), "");
    EXPECT_EQ(content(path), "secret\n");
    EXPECT_EQ(mode_of(path), 0600U);
    std::string seen;
    std::getline(reader, seen);
    EXPECT_EQ(seen, "old");
}

TEST_F(SecretFileTest, IsNeverWrittenToAnothersFileALinkAPipeOrADevice) {
    const std::string target = write("target", "old\n");
    fs::create_symlink(target, file("link"));
    fs::create_symlink(file("nothing"), file("dangling"));
    ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
    fs::create_directory(file("folder"));
    for (const std::string& path : {foreign(), file("link"), file("dangling"), file("pipe"),
                                    file("folder"), std::string{"/dev/null"}}) {
        EXPECT_TRUE(refusal_of(path).starts_with("the file '" + path + "' cannot be written"))
            << path << ": " << refusal_of(path);
    }
    EXPECT_EQ(content(target), "old\n");
    EXPECT_FALSE(fs::exists(file("nothing")));
}

TEST_F(SecretFileTest, IsReadOnlyIfItIsARegularFileOfAModestSize) {
    EXPECT_EQ(read_regular_file(write("a", "text"), 4), "text");
    fs::create_symlink(file("a"), file("link"));
    EXPECT_EQ(read_regular_file(file("link"), 4), "text");
    EXPECT_EQ(read_regular_file(file("a"), 3).error(), "it has more than 3 bytes");
    ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
    for (const std::string& path :
         {file("pipe"), folder_.string(), std::string{"/dev/zero"}, std::string{"/dev/null"}}) {
        EXPECT_EQ(read_regular_file(path, 1000).error(), "it is not a regular file") << path;
    }
    EXPECT_EQ(read_regular_file(file("none"), 1).error(), "No such file or directory");
}

TEST_F(SecretFileTest, TellsWhoElseCanReachIt) {
    const auto exposed = [](const std::string& path) {
        std::string all;
        for (const Exposure& one : exposures_of({"the file", path})) all += one.text + ". ";
        return all;
    };
    EXPECT_EQ(exposed(write("a", "x", 0600)), "");
    EXPECT_EQ(exposed(write("a", "x", 0660)), "");
    for (const mode_t mode : {0604, 0602, 0644}) {
        EXPECT_EQ(exposed(write("a", "x", mode)),
                  "everybody on this host can read or change the file. ");
    }
    EXPECT_EQ(exposed(file("none")), "");
    EXPECT_EQ(exposed(""), "");
    if (::geteuid() == 0) {
        EXPECT_TRUE(exposed(foreign()).contains("another user owns the file"));
    }
    // Reached through a link, the folder of the link counts as well as the folder of the file.
    (void)write("a", "x", 0600);
    fs::create_directory(file("open"));
    fs::create_symlink(file("a"), file("open/link"));
    ::chmod(file("open").c_str(), 01777);
    EXPECT_EQ(exposed(file("open/link")),
              "everybody on this host can put files into the folder of the file. ");
    EXPECT_EQ(exposed(file("a")), "");
}

TEST_F(SecretFileTest, ADatabaseIsPrivateAlsoBehindALink) {
    fs::create_symlink("next", file("link"));
    fs::create_symlink(file("real.db"), file("next"));
    const mode_t before = ::umask(022);
    {
        const auto store = open_store("sqlite:" + file("link"));
    }
    EXPECT_EQ(mode_of(file("real.db")), 0600U);
    // An existing file keeps its mode.
    ::chmod(file("real.db").c_str(), 0640);
    {
        const auto store = open_store("sqlite:" + file("link"));
    }
    EXPECT_EQ(mode_of(file("real.db")), 0640U);
    ::umask(before);
}

TEST_F(SecretFileTest, ADatabaseIsARegularFile) {
    ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
    EXPECT_THROW((void)open_store("sqlite:" + file("pipe")), BadRequest);
    EXPECT_THROW((void)open_store("sqlite:/dev/zero"), BadRequest);
}

}  // namespace
}  // namespace leasehold::testing
