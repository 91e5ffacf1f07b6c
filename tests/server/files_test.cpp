#include <chrono>
#include <fstream>
#include <string>
#include <utility>

#include "server/http/accept_encoding.hpp"
#include "server/http/assets.hpp"
#include "server/server_fixture.hpp"
#include "support/process.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class ServedFiles : public ServerTest {
protected:
    Client client_ = server_.connect();
};

TEST_F(ServedFiles, TheConsoleIsAtTheRoot) {
    Answer page = client_.ask("GET", "/");
    EXPECT_EQ(page.status, 200U);
    EXPECT_EQ(page.fields["content-type"], "text/html; charset=utf-8");
    EXPECT_TRUE(page.body.starts_with("<!doctype html>"));
    EXPECT_EQ(client_.ask("GET", "/console/console.js").fields["content-type"],
              "text/javascript; charset=utf-8");
    EXPECT_EQ(client_.ask("GET", "/console/console.css").fields["content-type"],
              "text/css; charset=utf-8");
    EXPECT_EQ(client_.ask("GET", "/console/icon.svg").fields["content-type"], "image/svg+xml");
}

TEST_F(ServedFiles, EveryFileOfTheBuildIsServedWhole) {
    ASSERT_FALSE(server::assets.empty());
    for (const server::Asset& asset : server::assets) {
        Answer answer = client_.ask("GET", asset.path);
        EXPECT_EQ(answer.status, 200U) << asset.path;
        EXPECT_EQ(answer.body, asset.plain.body) << asset.path;
        EXPECT_EQ(answer.fields["etag"], asset.plain.etag) << asset.path;
        EXPECT_FALSE(asset.content_type.empty()) << asset.path;
    }
}

TEST_F(ServedFiles, APageMayLoadAndRunNothingButTheServersOwnFiles) {
    Answer page = client_.ask("GET", "/");
    const std::string policy = page.fields["content-security-policy"];
    for (const std::string_view part :
         {"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
          "img-src 'self'", "frame-ancestors 'none'", "base-uri 'none'",
          "require-trusted-types-for 'script'"}) {
        EXPECT_NE(policy.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_EQ(page.fields["x-content-type-options"], "nosniff");
    EXPECT_EQ(page.fields["referrer-policy"], "no-referrer");
}

TEST_F(ServedFiles, AFileThatTheClientHasIsNotSentAgain) {
    const std::string tag = client_.ask("GET", "/").fields["etag"];
    for (const std::string& known : {tag, "\"other\", " + tag, "W/" + tag, std::string{"*"},
                                     "\"a\"\r\nIf-None-Match: " + tag}) {
        Answer same = client_.ask("GET", "/", {}, "If-None-Match: " + known + "\r\n");
        EXPECT_EQ(same.status, 304U) << known;
        EXPECT_EQ(same.body, "");
        EXPECT_EQ(same.fields["etag"], tag);
        EXPECT_EQ(same.fields["cache-control"], "no-cache");
        EXPECT_FALSE(same.fields.contains("content-length"));
    }
    EXPECT_EQ(client_.ask("GET", "/", {}, "If-None-Match: \"other\"\r\n").status, 200U);
    EXPECT_EQ(client_.ask("GET", "/").status, 200U);
}

std::string gunzip(std::string_view compressed) {
    const TemporaryFolder folder;
    const std::string file = folder.path() / "file.gz";
    std::ofstream{file, std::ios::binary} << compressed;
    Finished command = run({.arguments = {"gzip", "-dc", file}}, std::chrono::minutes{1});
    EXPECT_EQ(command.exit_code, 0);
    return std::move(command.output);
}

TEST_F(ServedFiles, EveryFileIsCompressedForAClientThatAcceptsIt) {
    std::size_t plain = 0;
    std::size_t compressed = 0;
    for (const server::Asset& asset : server::assets) {
        Answer answer = client_.ask("GET", asset.path, {}, "Accept-Encoding: br, gzip\r\n");
        EXPECT_EQ(answer.fields["content-encoding"], "gzip") << asset.path;
        EXPECT_EQ(answer.fields["vary"], "Accept-Encoding") << asset.path;
        EXPECT_EQ(answer.fields["etag"], asset.gzip.etag) << asset.path;
        EXPECT_NE(asset.gzip.etag, asset.plain.etag) << asset.path;
        EXPECT_EQ(gunzip(answer.body), asset.plain.body) << asset.path;
        plain += asset.plain.body.size();
        compressed += asset.gzip.body.size();
    }
    EXPECT_LT(compressed * 5, plain * 2);
}

TEST_F(ServedFiles, AClientThatDoesNotAcceptGzipGetsThePlainFile) {
    for (const std::string_view accepted :
         {"", "Accept-Encoding: br\r\n", "Accept-Encoding: gzip;q=0\r\n",
          "Accept-Encoding: gzip;q=0.5, identity\r\n", "Accept-Encoding:\r\n"}) {
        Answer answer = client_.ask("GET", "/console/console.js", {}, std::string{accepted});
        EXPECT_FALSE(answer.fields.contains("content-encoding")) << accepted;
        EXPECT_EQ(answer.fields["vary"], "Accept-Encoding") << accepted;
        EXPECT_NE(answer.body.find("import"), std::string::npos) << accepted;
    }
}

TEST_F(ServedFiles, AnEtagIsThatOfOneEncoding) {
    const std::string path = "/console/console.js";
    const std::string gzip = "Accept-Encoding: gzip\r\n";
    const std::string plain_tag = client_.ask("GET", path).fields["etag"];
    const std::string gzip_tag = client_.ask("GET", path, {}, gzip).fields["etag"];
    const auto status = [&](const std::string& accepted, const std::string& tag) {
        Answer answer = client_.ask("GET", path, {}, accepted + "If-None-Match: " + tag + "\r\n");
        EXPECT_EQ(answer.fields["vary"], "Accept-Encoding");
        return answer.status;
    };
    EXPECT_EQ(status(gzip, gzip_tag), 304U);
    EXPECT_EQ(status(gzip, plain_tag), 200U);
    EXPECT_EQ(status("", plain_tag), 304U);
    EXPECT_EQ(status("", gzip_tag), 200U);
}

TEST_F(ServedFiles, HeadTellsTheLengthOfTheEncodingThatGetWouldSend) {
    const std::string gzip = "Accept-Encoding: gzip\r\n";
    Answer whole = client_.ask("GET", "/console/console.js", {}, gzip);
    // HEAD sends nothing of the file. The client reads as many bytes of the next answer instead.
    client_.send(message("HEAD", "/console/console.js", {}, gzip) +
                 message("GET", "/client/panel.js"));
    Answer head = client_.receive();
    EXPECT_EQ(head.fields["content-length"], std::to_string(whole.body.size()));
    EXPECT_EQ(head.fields["content-encoding"], "gzip");
    EXPECT_EQ(head.fields["etag"], whole.fields["etag"]);
    EXPECT_TRUE(head.body.starts_with("HTTP/1.1 200"));
}

TEST_F(ServedFiles, ThePageAsksForOneStyleSheetAndForAllItsModulesAtOnce) {
    const std::string page = client_.ask("GET", "/").body;
    const auto count = [&page](std::string_view text) {
        std::size_t found = 0;
        for (std::size_t at = page.find(text); at != std::string::npos;
             at = page.find(text, at + 1)) {
            ++found;
        }
        return found;
    };
    EXPECT_EQ(count("rel=\"stylesheet\""), 1U);
    for (const server::Asset& asset : server::assets) {
        if (!asset.path.starts_with("/console/") || !asset.path.ends_with(".js")) continue;
        const auto link = "rel=\"modulepreload\" href=\"" + std::string{asset.path} + "\"";
        EXPECT_EQ(count(link), 1U) << asset.path;
    }
}

TEST(AcceptEncoding, GzipIsPreferredByItsWeight) {
    for (const std::string_view yes :
         {"gzip", "GZIP", "x-gzip", "deflate, gzip;q=1.0, *;q=0.5", "*", "gzip ; q = 0.001",
          "gzip;q=0.5, identity;q=0.5", "br;q=1, gzip;q=0.8", "identity;q=0, *;q=0.1", "gzip,"}) {
        EXPECT_TRUE(server::prefers_gzip(yes)) << yes;
    }
    for (const std::string_view no :
         {"", "br", "identity", "gzip;q=0", "gzip;q=0.000", "*;q=0", "gzip;q=0, *", "gzipped",
          "gzip;q=2", "gzip;q=1.1", "gzip;q=0.1234", "gzip;q=x", "gzip;q", "gzip;level=9",
          "gzip;q=0.2, identity;q=0.3", ",;=,", ";;;"}) {
        EXPECT_FALSE(server::prefers_gzip(no)) << no;
    }
}

TEST_F(ServedFiles, AreOnlyRead) {
    for (const std::string_view target : {"/", "/console/console.js", "/client/leasehold.js"}) {
        Answer refused = client_.ask("POST", target, "{}");
        EXPECT_EQ(refused.status, 405U) << target;
        EXPECT_EQ(refused.fields["allow"], "GET, HEAD") << target;
    }
    // HEAD sends nothing of the file, so what follows is the next answer.
    client_.send(message("HEAD", "/console/icon.svg") + message("GET", "/"));
    Answer head = client_.receive();
    EXPECT_EQ(head.fields["content-type"], "image/svg+xml");
    EXPECT_TRUE(head.body.starts_with("HTTP/1.1 200"));
}

TEST_F(ServedFiles, AMissingFileIsNotFound) {
    for (const std::string_view target :
         {"/index.html", "/console", "/console/", "/console/index.html", "/console/nothing.js",
          "/console/..%2Findex.html", "/console/../server.cpp", "//", "/./console/console.js",
          "/client/nothing.js", "/client/package.json"}) {
        Answer answer = client_.ask("GET", target);
        EXPECT_EQ(answer.status, 404U) << target;
        EXPECT_EQ(answer.code(), "not_found") << target;
    }
}

TEST_F(ServedFiles, AQueryChangesNothing) {
    EXPECT_EQ(client_.ask("GET", "/console/console.js?v=2").status, 200U);
}

}  // namespace
}  // namespace leasehold::testing
