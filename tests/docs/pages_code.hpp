#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/leasehold.hpp>
#include <leasehold/web/lock_routes.hpp>
#include <leasehold/web/locking_repository.hpp>
#include <leasehold/web/sessions.hpp>

struct sqlite3;

namespace leasehold::docs {

struct Customer {
    std::string name{};
};

// A transaction on SQLite that begins when it is needed.
class CustomerTransaction {
public:
    explicit CustomerTransaction(::sqlite3* db) : db_{db} {}

    void begin();
    void commit();
    void roll_back();
    [[nodiscard]] bool has_begun() const { return begun_; }
    [[nodiscard]] Result<Lease> guard(const LockKey& key, LockId lock_id);
    Result<Lease> release(const LockKey& key, LockId lock_id);

private:
    ::sqlite3* db_;
    bool begun_ = false;
};

// The customer that was last saved.
class Customers {
public:
    using Record = Customer;

    explicit Customers(CustomerTransaction& transaction) : transaction_{transaction} {}

    std::optional<Customer> find(const std::string&) {
        transaction_.begin();
        return saved_;
    }
    bool update(const Customer& customer, const Lease&) {
        saved_ = customer;
        return true;
    }
    [[nodiscard]] const std::string& name() const { return saved_.name; }

private:
    CustomerTransaction& transaction_;
    Customer saved_{.name = "Ama"};
};

// What the code of the pages leaves to the application. In the form there is the lock id of a lease
// on Order/1, which the visitor has in `tab`.
class PageApplication {
public:
    PageApplication(const std::string& url, ::sqlite3* connection);

    std::string store_url;
    ::sqlite3* db;
    LockManager locks;
    const LockKey order{"Order", "1"};
    const web::Visitor visitor{"alice", "session-7"};
    const std::string tab = "tab-2";
    std::map<std::string, std::string> form;
    const std::vector<std::string> items{"first", "second"};

    CustomerTransaction transaction;
    Customers repository;

    std::string shown;                 // the last text shown to the person
    std::vector<std::string> written;  // what was written, in its order

    void show(const std::string& text) { shown = text; }
    void render_form(const std::string& record, const std::string& lock_id);
    [[nodiscard]] static std::string load(const LockKey& key) { return key.to_string(); }
    [[nodiscard]] static std::string customer_of(const LockKey&) { return "7"; }
    void render(const std::string& record) { written.push_back(record); }
    void make_report(Fence) { written.emplace_back("report"); }
    void write(const std::string& item, Fence) { written.push_back(item); }
    void write(const std::string& item) { written.push_back(item); }
    void send(const web::Response& response) { written.push_back(std::to_string(response.status)); }
    void begin(::sqlite3*) { transaction.begin(); }
    void update(::sqlite3*, const std::string& text) { written.push_back(text); }
    void rollback(::sqlite3*) { transaction.roll_back(); }
    void commit(::sqlite3*) { transaction.commit(); }
};

// The code of docs/guarded-save.md.
class SavingApplication : public PageApplication {
public:
    using PageApplication::PageApplication;

    const LockId lock_id = LockId::parse(form.at("lock_id")).value();

    void exec(::sqlite3*, const std::string& sql);
    void explain(const Refusal& refusal) { show(refusal.message()); }
};

// The code of docs/web-kit.md. In the form there is the lock id of Customer/7.
class WebApplication : public PageApplication {
public:
    WebApplication(const std::string& url, ::sqlite3* connection);

    web::Sessions sessions{locks};
    web::LockRoutes routes{locks, [](auto&, auto&, Mode) { return true; }};
    boost::asio::io_context context;
    boost::asio::ip::tcp::socket accepted{context};
};

// What a block of code did.
struct PageRun {
    std::string shown;
    std::vector<std::string> written;
};

// The blocks of C++ of a page in their order, which the build copies from there. Each takes the
// store's URL and a connection to the same file.
using Blocks = std::vector<std::function<PageRun(const std::string&, ::sqlite3*)>>;
[[nodiscard]] std::map<std::string, Blocks> code_of_the_pages();

}  // namespace leasehold::docs
