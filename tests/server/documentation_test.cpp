#include <filesystem>
#include <fstream>
#include <string>

#include "server/installed_documentation.hpp"
#include "server/server_fixture.hpp"

namespace leasehold::testing {
namespace {

class ServedDocumentation : public ::testing::Test {
protected:
    InstalledDocumentation installed_;
    RunningServer server_{memory::open(), {.documentation = installed_.folder()}};
    Client client_ = server_.connect();
};

TEST_F(ServedDocumentation, BeginsAtDocs) {
    Answer page = client_.ask("GET", "/docs/");
    EXPECT_EQ(page.status, 200U);
    EXPECT_EQ(page.fields["content-type"], "text/html; charset=utf-8");
    EXPECT_EQ(page.fields["content-encoding"], "gzip");
    EXPECT_EQ(page.body, InstalledDocumentation::page);
    EXPECT_EQ(client_.ask("GET", "/docs/index.html?q=lease").body, page.body);
    Answer elsewhere = client_.ask("GET", "/docs?q=lease");
    EXPECT_EQ(elsewhere.status, 308U);
    EXPECT_EQ(elsewhere.fields["location"], "/docs/");
}

TEST_F(ServedDocumentation, HasFilesInFolders) {
    Answer script = client_.ask("GET", "/docs/assets/deep/page.js");
    EXPECT_EQ(script.status, 200U);
    EXPECT_EQ(script.fields["content-type"], "text/javascript; charset=utf-8");
    EXPECT_EQ(script.body, InstalledDocumentation::script);
}

TEST_F(ServedDocumentation, MayLoadNothingButTheServersOwnFiles) {
    Answer page = client_.ask("GET", "/docs/");
    const std::string policy = page.fields["content-security-policy"];
    for (const std::string_view part :
         {"default-src 'none'", "script-src 'self';", "connect-src 'self';", "base-uri 'none'",
          "form-action 'none'", "frame-ancestors 'none'"}) {
        EXPECT_TRUE(policy.contains(part)) << part;
    }
    EXPECT_EQ(page.fields["x-content-type-options"], "nosniff");
    EXPECT_EQ(page.fields["referrer-policy"], "no-referrer");
}

TEST_F(ServedDocumentation, IsNotSentAgainToAClientThatHasIt) {
    const std::string tag = client_.ask("GET", "/docs/").fields["etag"];
    EXPECT_EQ(client_.ask("GET", "/docs/", {}, "If-None-Match: " + tag + "\r\n").status, 304U);
    const std::string other = client_.ask("GET", "/docs/assets/deep/page.js").fields["etag"];
    EXPECT_NE(other, tag);
    EXPECT_EQ(client_.ask("GET", "/docs/", {}, "If-None-Match: " + other + "\r\n").status, 200U);
}

TEST_F(ServedDocumentation, HasNoFileOutsideItsFolder) {
    const std::filesystem::path outside = installed_.folder().string() + "-secret.html.gz";
    std::ofstream{outside, std::ios::binary} << InstalledDocumentation::page;
    const std::string name = outside.stem().string();
    for (const std::string& path :
         {"../" + name, "%2e%2e/" + name, "..%2f" + name, "assets/../../" + name,
          "/" + outside.parent_path().string() + "/" + name, std::string{"assets"},
          std::string{"assets/"}, std::string{"assets/deep"}, std::string{"/index.html"},
          std::string{"index.html/"}, std::string{"index.html.gz"}, std::string{"index.html%00"}}) {
        EXPECT_EQ(client_.ask("GET", "/docs/" + path).status, 404U) << path;
    }
    std::filesystem::remove(outside);
}

TEST_F(ServedDocumentation, IsThatOfTheStartOfTheServer) {
    std::filesystem::remove_all(installed_.folder() / "assets");
    EXPECT_EQ(client_.ask("GET", "/docs/assets/deep/page.js").status, 200U);
    installed_.add("later.html.gz", InstalledDocumentation::page);
    EXPECT_EQ(client_.ask("GET", "/docs/later.html").status, 404U);
}

TEST(Documentation, LeavesOutWhatIsNotAFileOfGzip) {
    const InstalledDocumentation installed;
    installed.add("plain.html", "<p>");
    installed.add("short.html.gz", "<p>");
    std::filesystem::create_directories(installed.folder() / "folder.html.gz");
    std::filesystem::create_symlink("nowhere", installed.folder() / "broken.html.gz");
    RunningServer server{memory::open(), {.documentation = installed.folder()}};
    Client client = server.connect();
    for (const std::string name : {"plain", "short", "folder", "broken"}) {
        EXPECT_EQ(client.ask("GET", "/docs/" + name + ".html").status, 404U) << name;
    }
    EXPECT_EQ(client.ask("GET", "/docs/").status, 200U);
}

TEST(Documentation, IsMissingWhereItIsNotInstalled) {
    for (const std::string folder : {"", "/nonexistent/docs"}) {
        RunningServer server{memory::open(), {.documentation = folder}};
        Client client = server.connect();
        EXPECT_EQ(client.ask("GET", "/docs/").status, 404U) << folder;
        EXPECT_EQ(client.ask("GET", "/docs").status, 404U) << folder;
    }
}

}  // namespace
}  // namespace leasehold::testing
