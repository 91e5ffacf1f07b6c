#include "server/transport/request_reader.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "server/http/target.hpp"

namespace leasehold::server {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t first_buffer_bytes = 2048;

Problem bad_framing(std::string_view detail) {
    return {.status = 400, .code = "bad_request", .detail = std::string{detail}};
}

}  // namespace

// Beast parses the bytes. This class keeps the fields and refuses requests that are ambiguous.
class RequestReader::Parser final : public http::basic_parser<true> {
public:
    Parser(HttpRequest& request, const ServerOptions& options) : request_{request} {
        header_limit(static_cast<std::uint32_t>(options.header_bytes));
        body_limit(options.body_bytes);
        eager(true);
    }

    std::optional<Problem> problem;
    bool expects_continue = false;

private:
    void refuse(beast::error_code& error, Problem why) {
        problem = std::move(why);
        error = http::error::bad_field;
    }

    void on_request_impl(http::verb, beast::string_view method, beast::string_view target,
                         int version, beast::error_code&) override {
        version_ = version;
        request_.method.assign(method.data(), method.size());
        request_.target.assign(target.data(), target.size());
    }
    void on_response_impl(int, beast::string_view, int, beast::error_code&) override {}

    void on_field_impl(http::field name, beast::string_view text, beast::string_view value,
                       beast::error_code& error) override {
        if (in_body_)
            return refuse(error, bad_framing("trailer fields after the body are not accepted"));
        switch (name) {
            case http::field::host:
                request_.host.assign(value.data(), value.size());
                return once(host_, "Host", error);
            case http::field::authorization:
                return keep(request_.authorization, "Authorization", value, error);
            case http::field::origin: return keep(request_.origin, "Origin", value, error);
            case http::field::access_control_request_method:
                request_.asks_permission = true;
                return;
            case http::field::content_length:
                if (value.find(',') != beast::string_view::npos) {
                    return refuse(error, bad_framing("Content-Length must be a single number"));
                }
                return once(content_length_, "Content-Length", error);
            case http::field::transfer_encoding:
                if (!beast::iequals(value, "chunked")) {
                    return refuse(
                        error, bad_framing("the only accepted Transfer-Encoding is \"chunked\""));
                }
                return once(transfer_encoding_, "Transfer-Encoding", error);
            case http::field::content_type:
                request_.content_type.assign(value.data(), value.size());
                return once(content_type_, "Content-Type", error);
            case http::field::expect:
                if (!beast::iequals(value, "100-continue")) {
                    return refuse(error, {.status = 417,
                                          .code = "bad_request",
                                          .detail = "the only accepted Expect is 100-continue"});
                }
                expects_continue = true;
                return;
            case http::field::if_none_match: return add(request_.if_none_match, value);
            case http::field::accept: return add(request_.accept, value);
            case http::field::accept_encoding: return add(request_.accept_encoding, value);
            case http::field::accept_language: return add(request_.accept_language, value);
            default:
                return request_.fields.add({text.data(), text.size()},
                                           {value.data(), value.size()});
        }
    }

    // Joins several fields of the same name to one list, as HTTP defines it.
    static void add(std::string& list, beast::string_view value) {
        if (!list.empty()) list.push_back(',');
        list.append(value.data(), value.size());
    }
    void keep(std::optional<std::string>& field, std::string_view name, beast::string_view value,
              beast::error_code& error) {
        if (field) return twice(name, error);
        field.emplace(value.data(), value.size());
    }
    void once(bool& seen, std::string_view name, beast::error_code& error) {
        if (seen) return twice(name, error);
        seen = true;
    }
    void twice(std::string_view name, beast::error_code& error) {
        refuse(error, bad_framing(std::string{name} + " is given twice"));
    }

    void on_header_impl(beast::error_code& error) override {
        in_body_ = true;
        request_.keep_alive = keep_alive();
        if (!host_ && version_ == 11) {
            return refuse(error, bad_framing("the Host field is missing"));
        }
        if (transfer_encoding_ && version_ == 10) {
            return refuse(error, bad_framing("HTTP/1.0 has no Transfer-Encoding"));
        }
        if (!take_absolute_form(request_)) {
            return refuse(error, bad_framing("the host of the request's target is malformed"));
        }
    }
    void on_body_init_impl(const boost::optional<std::uint64_t>&, beast::error_code&) override {}
    std::size_t on_body_impl(beast::string_view body, beast::error_code&) override {
        return keep(body);
    }
    void on_chunk_header_impl(std::uint64_t, beast::string_view extensions,
                              beast::error_code& error) override {
        if (!extensions.empty()) refuse(error, bad_framing("chunk extensions are not accepted"));
    }
    std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body,
                                   beast::error_code&) override {
        return keep(body);
    }
    void on_finish_impl(beast::error_code&) override {}

    std::size_t keep(beast::string_view body) {
        request_.body.append(body.data(), body.size());
        request_.body_bytes += body.size();
        return body.size();
    }

    HttpRequest& request_;
    int version_ = 11;
    bool in_body_ = false;
    bool host_ = false;
    bool content_length_ = false;
    bool transfer_encoding_ = false;
    bool content_type_ = false;
};

RequestReader::RequestReader(const ServerOptions& options)
    : options_{options}, parser_{std::make_unique<Parser>(request_, options)} {}

RequestReader::~RequestReader() = default;

std::span<char> RequestReader::space() {
    if (filled_ == buffer_.size()) {
        buffer_.resize(
            std::min(std::max(2 * buffer_.size(), first_buffer_bytes), options_.header_bytes));
    }
    return std::span{buffer_}.subspan(filled_);
}

RequestReader::State RequestReader::received(std::size_t bytes) {
    filled_ += bytes;
    return advance();
}

std::optional<std::uint64_t> RequestReader::body_bytes() const {
    const auto length = parser_->content_length();
    return length ? std::optional{*length} : std::nullopt;
}

bool RequestReader::take_expect_continue() {
    return std::exchange(parser_->expects_continue, false);
}

RequestReader::State RequestReader::next() {
    empty_for_reuse(request_.method);
    empty_for_reuse(request_.target);
    empty_for_reuse(request_.content_type);
    empty_for_reuse(request_.if_none_match);
    empty_for_reuse(request_.accept);
    empty_for_reuse(request_.accept_encoding);
    empty_for_reuse(request_.accept_language);
    empty_for_reuse(request_.host);
    request_.authorization.reset();
    request_.origin.reset();
    request_.asks_permission = false;
    request_.fields.clear();
    request_.let_in = false;
    request_.takes_body = true;
    request_.token.reset();
    empty_for_reuse(request_.audit_id);
    request_.refused_in_batch = 0;
    request_.drop_body();
    request_.body_bytes = 0;
    if (filled_ == 0 && buffer_.size() > first_buffer_bytes) {
        buffer_.resize(first_buffer_bytes);
        buffer_.shrink_to_fit();
    }
    std::destroy_at(parser_.get());
    std::construct_at(parser_.get(), request_, options_);
    header_lines_ = {};
    header_checked_ = false;
    state_ = State::idle;
    return advance();
}

RequestReader::State RequestReader::refuse(Problem problem) {
    problem_ = std::move(problem);
    return refuse();
}

std::optional<RequestReader::State> RequestReader::check_header() {
    header_lines_.read({buffer_.data(), filled_});
    if (!header_lines_.ambiguity().empty()) return refuse(bad_framing(header_lines_.ambiguity()));
    if (header_lines_.size() > 0) return std::nullopt;
    if (filled_ >= options_.header_bytes) {
        return refuse({.status = 431,
                       .code = "header_too_large",
                       .detail = "the request's header exceeds the limit of " +
                                 std::to_string(options_.header_bytes) + " bytes"});
    }
    return state_ = State::header;
}

RequestReader::State RequestReader::advance() {
    if (filled_ == 0) return state_;
    if (!header_checked_) {
        if (const auto state = check_header()) return *state;
        header_checked_ = true;
        // Parse the header alone: the bytes after it must not change its meaning.
        if (const auto state = parse(header_lines_.size())) return *state;
        if (!parser_->is_header_done())
            return refuse(bad_framing("not valid HTTP: bad start line"));
    }
    if (!parser_->is_done()) {
        if (const auto state = parse(filled_)) return *state;
    }
    if (parser_->is_done()) return state_ = State::whole;
    if (filled_ >= options_.header_bytes) {
        return refuse(bad_framing("a line within the body is too long"));
    }
    return state_ = State::body;
}

std::optional<RequestReader::State> RequestReader::parse(std::size_t bytes) {
    beast::error_code error;
    const std::size_t used = parser_->put(boost::asio::buffer(buffer_.data(), bytes), error);
    filled_ -= used;
    std::memmove(buffer_.data(), buffer_.data() + used, filled_);
    if (parser_->problem) return refuse(*std::move(parser_->problem));
    if (error == http::error::body_limit) {
        return refuse({.status = 413,
                       .code = "body_too_large",
                       .detail = "the request's body exceeds the limit of " +
                                 std::to_string(options_.body_bytes) + " bytes"});
    }
    if (error == http::error::bad_version) {
        return refuse(
            {.status = 505, .code = "bad_request", .detail = "this server speaks HTTP/1.1"});
    }
    if (error && error != http::error::need_more) {
        return refuse(bad_framing("not valid HTTP: " + error.message()));
    }
    return std::nullopt;
}

}  // namespace leasehold::server
