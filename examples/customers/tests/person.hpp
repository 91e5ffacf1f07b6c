#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "application.hpp"
#include "web/http.hpp"

namespace customers::testing {

// A page as a browser without a script has it.
struct Page {
    int status = 0;
    std::string body{};
    std::string location{};
    std::string cookie{};  // the session's, where one was set

    [[nodiscard]] bool shows(std::string_view text) const { return body.contains(text); }
    // The fields of its main form, as it would be sent: the one with this action, by its end.
    [[nodiscard]] web::Fields form() const;
};

// With another value for one field.
[[nodiscard]] web::Fields with(web::Fields fields, const std::string& name,
                               const std::string& value);
[[nodiscard]] web::Fields without(const web::Fields& fields, const std::string& name);

// Somebody in a tab of a browser. Copies share the session.
class Person {
public:
    Person(Application& application, std::string name, std::string tab = "tab-1");

    [[nodiscard]] Person in_tab(std::string tab) const;

    Page get(const std::string& path);
    // The session's token and the tab's name are added where they are missing or empty.
    Page post(const std::string& path, web::Fields fields = {});
    // Fills the form of the page in and sends it.
    Page send(const std::string& path, const Page& page, const std::string& field,
              const std::string& value);

    // A question to the lock routes.
    struct Answer {
        int status = 0;
        std::string body{};
    };
    Answer ask(const std::string& method, const std::string& key, const std::string& body = {},
               const std::string& lock_id = {});

    // As a page does that goes away.
    Answer leave(const std::string& key, const std::string& lock_id, const std::string& after_ms);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& token() const { return token_; }
    [[nodiscard]] const std::string& form_token() const { return form_token_; }

private:
    Page exchange(kit::Request request);

    Application* application_;
    std::string name_;
    std::string tab_;
    std::string token_;
    std::string form_token_;
};

}  // namespace customers::testing
