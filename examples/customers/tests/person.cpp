#include "person.hpp"

#include <regex>

#include "web/http.hpp"

namespace customers::testing {
namespace {

std::string unescaped(std::string text) {
    const auto replace = [&](std::string_view from, std::string_view to) {
        for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
            text.replace(at, from.size(), to);
        }
    };
    replace("&lt;", "<");
    replace("&gt;", ">");
    replace("&quot;", "\"");
    replace("&#39;", "'");
    replace("&amp;", "&");
    return text;
}

std::string attribute(const std::string& tag, const std::string& name) {
    const std::regex pattern{"[ ]" + name + "=\"([^\"]*)\""};
    std::smatch found;
    return std::regex_search(tag, found, pattern) ? unescaped(found[1]) : "";
}

kit::Request form_request(const std::string& path, const web::Fields& fields) {
    kit::Request request{.method = "POST", .target = path, .body = fields.print()};
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    return request;
}

}  // namespace

web::Fields Page::form() const {
    web::Fields fields;
    const std::size_t begin = body.find("<main");
    const std::string content = body.substr(begin == std::string::npos ? body.size() : begin);
    static const std::regex pattern{"<input[^>]*>|<textarea[^>]*>[^<]*"};
    for (std::sregex_iterator it{content.begin(), content.end(), pattern}, end; it != end; ++it) {
        const std::string tag = it->str();
        const std::string name = attribute(tag, "name");
        if (name.empty() || fields.has(name)) continue;
        fields.add(name, tag.starts_with("<textarea") ? unescaped(tag.substr(tag.find('>') + 1))
                                                      : attribute(tag, "value"));
    }
    return fields;
}

web::Fields with(web::Fields fields, const std::string& name, const std::string& value) {
    fields = without(fields, name);
    fields.add(name, value);
    return fields;
}

web::Fields without(const web::Fields& fields, const std::string& name) {
    web::Fields rest;
    for (const auto& [field, value] : fields) {
        if (field != name) rest.add(field, value);
    }
    return rest;
}

Person::Person(Application& application, std::string name, std::string tab)
    : application_{&application}, name_{std::move(name)}, tab_{std::move(tab)} {
    web::Fields fields;
    fields.add("name", name_);
    token_ = exchange(form_request("/sign-in", fields)).cookie;
    const auto session = application.sessions().find(token_);
    if (session) form_token_ = session->form_token;
}

Person Person::in_tab(std::string tab) const {
    Person other = *this;
    other.tab_ = std::move(tab);
    return other;
}

Page Person::get(const std::string& path) {
    return exchange({.target = path});
}

Page Person::post(const std::string& path, web::Fields fields) {
    if (fields.get("form_token").empty()) fields = with(fields, "form_token", form_token_);
    if (fields.get("tab").empty()) fields = with(fields, "tab", tab_);
    return exchange(form_request(path, fields));
}

Page Person::send(const std::string& path, const Page& page, const std::string& field,
                  const std::string& value) {
    return post(path, with(page.form(), field, value));
}

Person::Answer Person::ask(const std::string& method, const std::string& key,
                           const std::string& body, const std::string& lock_id) {
    kit::Request request{.method = method, .target = "/v1/locks/" + key, .body = body};
    if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
    if (!lock_id.empty()) request.headers.emplace_back("Lock-Token", lock_id);
    const Page page = exchange(std::move(request));
    return {.status = page.status, .body = page.body};
}

Person::Answer Person::leave(const std::string& key, const std::string& lock_id,
                             const std::string& after_ms) {
    kit::Request request{.method = "DELETE",
                         .target = "/v1/locks/" + key + "?after_ms=" + after_ms};
    request.headers.emplace_back("Lock-Token", lock_id);
    const Page page = exchange(std::move(request));
    return {.status = page.status, .body = page.body};
}

Page Person::exchange(kit::Request request) {
    request.headers.emplace_back("Cookie", std::string{web::session_cookie} + '=' + token_);
    const web::Response response = application_->handle(std::move(request));
    Page page{.status = response.status, .body = response.body};
    for (const auto& [name, value] : response.headers) {
        if (name == "Location") page.location = value;
        if (name == "Set-Cookie" && value.starts_with(web::session_cookie)) {
            const std::size_t begin = web::session_cookie.size() + 1;
            page.cookie = value.substr(begin, value.find(';') - begin);
        }
    }
    return page;
}

}  // namespace customers::testing
