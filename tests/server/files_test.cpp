#include <string>

#include "server/http/assets.hpp"
#include "server/server_fixture.hpp"

namespace leasehold::testing {
namespace {

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
    EXPECT_EQ(client_.ask("GET", "/console/base.css").fields["content-type"],
              "text/css; charset=utf-8");
    EXPECT_EQ(client_.ask("GET", "/console/icon.svg").fields["content-type"], "image/svg+xml");
}

TEST_F(ServedFiles, EveryFileOfTheBuildIsServedWhole) {
    ASSERT_FALSE(server::assets.empty());
    for (const server::Asset& asset : server::assets) {
        Answer answer = client_.ask("GET", asset.path);
        EXPECT_EQ(answer.status, 200U) << asset.path;
        EXPECT_EQ(answer.body, asset.body) << asset.path;
        EXPECT_EQ(answer.fields["etag"], asset.etag) << asset.path;
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

TEST_F(ServedFiles, WhatIsNotThereIsNotFound) {
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
