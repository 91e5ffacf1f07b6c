#include "support/private_server.hpp"

#include <libpq-fe.h>
#include <mysql.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace leasehold::testing {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto setup_timeout = 300s;
constexpr auto ready_timeout = 180s;
constexpr int port_attempts = 5;

class EndedWhileStarting : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::string end_of(const fs::path& log) {
    constexpr std::streamoff most = 4000;
    std::ifstream file(log, std::ios::ate | std::ios::binary);
    if (!file) return "(no log)";
    const std::streamoff size = file.tellg();
    file.seekg(std::max<std::streamoff>(0, size - most));
    return {std::istreambuf_iterator<char>(file), {}};
}

// In the server's own folder: its user need not be able to write to ours.
void run_setup(const TemporaryFolder& folder, const std::string& user,
               const std::vector<std::string>& arguments) {
    const std::string& program = arguments[0];
    const auto [exit_code, output] = run({.arguments = arguments,
                                          .user = user,
                                          .folder = folder.path(),
                                          .environment = {"TMPDIR=" + folder.path().string()}},
                                         setup_timeout);
    if (exit_code != 0) {
        throw std::runtime_error(program + " failed with exit code " + std::to_string(exit_code) +
                                 ":\n" + output);
    }
}

// Asks until connect() does not throw. It must use the server's own socket file: on the port a
// stranger could answer.
template <typename Connect>
void wait_until_ready(ChildProcess& server, const fs::path& log, Connect connect) {
    const auto deadline = Clock::now() + ready_timeout;
    std::string last_error;
    while (Clock::now() < deadline) {
        if (!server.running()) {
            throw EndedWhileStarting("the server ended while starting; its log ends:\n" +
                                     end_of(log));
        }
        try {
            connect();
            return;
        } catch (const std::runtime_error& error) {
            last_error = error.what();
        }
        std::this_thread::sleep_for(20ms);
    }
    throw std::runtime_error("the server does not accept connections (" + last_error +
                             "); its log ends:\n" + end_of(log));
}

// Another process may take the port between the choice and the start; then the server ends, and we
// choose again.
template <typename Launch>
void launch_on_some_port(std::uint16_t& port, Launch launch) {
    for (int attempt = 1;; ++attempt) {
        port = free_port();
        try {
            return launch();
        } catch (const EndedWhileStarting&) {
            if (attempt == port_attempts) throw;
        }
    }
}

ChildProcess& started(std::optional<ChildProcess>& server) {
    if (!server) throw std::logic_error("the server was killed and not started again");
    return *server;
}

fs::path postgres_program(const std::string& name) {
    int newest = 0;
    fs::path found;
    std::error_code missing;
    for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", missing)) {
        const std::string text = version.path().filename();
        int number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        if (number > newest && fs::exists(version.path() / "bin" / name)) {
            newest = number;
            found = version.path() / "bin" / name;
        }
    }
    if (found.empty()) {
        throw std::runtime_error("no /usr/lib/postgresql/*/bin/" + name +
                                 ": install the Debian package postgresql");
    }
    return found;
}

fs::path mariadb_program(const std::string& name) {
    for (const fs::path folder : {"/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"}) {
        if (fs::exists(folder / name)) return folder / name;
    }
    throw std::runtime_error("no program " + name + ": install the Debian package mariadb-server");
}

fs::path path_in_environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// Where tests keep what is costly to make. All clones of this user share it.
fs::path cache_folder() {
    const fs::path cache = path_in_environment("XDG_CACHE_HOME");
    return (cache.empty() ? path_in_environment("HOME") / ".cache" : cache) / "leasehold";
}

// As tests/mysql has it.
fs::path mysql_root() {
    const fs::path root = path_in_environment("LEASEHOLD_MYSQL_ROOT");
    return root.empty() ? cache_folder() / "mysql" : root;
}

// The name of the data folder that `arguments` make: another one after an update of the program.
std::string template_name(const std::vector<std::string>& arguments) {
    std::string made_by;
    for (const std::string& argument : arguments) made_by += argument + '\n';
    const fs::path& program = arguments[0];
    made_by += std::to_string(fs::last_write_time(program).time_since_epoch().count());
    return program.filename().string() + "-" +
           std::to_string(std::hash<std::string>{}(made_by) % 1'000'000'000);
}

// Makes a server's data folder, `folder`/data, with a program that takes seconds of processor time:
// 1. If an earlier test kept a copy of what the same command had made, copy that.
// 2. Otherwise run the command, and keep a copy for the next test. It appears under its name in one
//    step, so that tests can do this at the same time. If it cannot be kept, nothing is lost.
void make_data_folder(const TemporaryFolder& folder, const std::string& user,
                      std::vector<std::string> arguments, const std::string& data_option) {
    const std::string data = folder.path() / "data";
    const fs::path kept = cache_folder() / template_name(arguments);
    if (fs::exists(kept)) {
        run_setup(folder, "", {"/bin/cp", "-a", "--sparse=always", kept, data});
        return;
    }
    arguments.push_back(data_option + data);
    run_setup(folder, user, arguments);
    std::error_code failed;
    fs::create_directories(kept.parent_path(), failed);
    const std::string unfinished = kept.string() + "." + std::to_string(::getpid());
    if (run({.arguments = {"/bin/cp", "-a", "--sparse=always", data, unfinished}}, setup_timeout)
            .exit_code == 0) {
        fs::rename(unfinished, kept, failed);  // fails if another test was faster
    }
    fs::remove_all(unfinished, failed);
}

fs::path find_below(const fs::path& folder, std::string_view begin) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().filename().string().starts_with(begin)) return entry.path();
    }
    throw std::runtime_error("no " + std::string(begin) + " in " + folder.string());
}

// Another Debian's program, with the loader and the libraries that came with it.
std::vector<std::string> mysqld() {
    if (!PrivateMysql::is_there()) {
        throw std::runtime_error("no MySQL in " + mysql_root().string() +
                                 ": run tests/mysql fetch");
    }
    const fs::path usr = mysql_root() / "usr";
    const fs::path loader = fs::exists(usr / "lib64") ? find_below(usr / "lib64", "ld-linux")
                                                      : find_below(usr / "lib", "ld-linux");
    const fs::path libraries = find_below(usr / "lib", "libc.so.6").parent_path();
    return {loader,          "--library-path",           libraries, usr / "sbin" / "mysqld",
            "--no-defaults", "--basedir=" + usr.string()};
}

using PostgresConnection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

PostgresConnection connect_postgres(const std::string& host, std::uint16_t port,
                                    const std::string& database) {
    const std::string port_text = std::to_string(port);
    const char* names[] = {"host",    "port",    "user",       "dbname",
                           "sslmode", "options", "gssencmode", "connect_timeout",
                           nullptr};
    const char* values[] = {
        host.c_str(), port_text.c_str(), "postgres", database.c_str(), "disable",
        "",           "disable",         "60",       nullptr};
    PostgresConnection connection(PQconnectdbParams(names, values, 0), PQfinish);
    if (PQstatus(connection.get()) != CONNECTION_OK) {
        throw std::runtime_error(PQerrorMessage(connection.get()));
    }
    return connection;
}

// PostgreSQL leaves a segment of shared memory behind when it is killed, and removes it only if
// started again.
void remove_shared_memory(const fs::path& data) {
    std::ifstream file(data / "postmaster.pid");
    std::string line;
    for (int skipped = 0; skipped < 6; ++skipped) std::getline(file, line);
    unsigned long key = 0;
    int id = -1;
    if (file >> key >> id) ::shmctl(id, IPC_RMID, nullptr);
}

using MariadbConnection = std::unique_ptr<MYSQL, decltype(&mysql_close)>;

struct MariadbLogin {
    const char* host;
    const char* user;
    const char* password;
    std::uint16_t port;
    std::string socket;
};

MariadbConnection connect_mariadb(const MariadbLogin& login) {
    MariadbConnection connection(mysql_init(nullptr), mysql_close);
    if (!connection) throw std::bad_alloc();
    const unsigned timeout_s = 60;
    mysql_optionsv(connection.get(), MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
    if (mysql_real_connect(connection.get(), login.host, login.user, login.password, nullptr,
                           login.port, login.socket.empty() ? nullptr : login.socket.c_str(),
                           0) == nullptr) {
        throw std::runtime_error(mysql_error(connection.get()));
    }
    return connection;
}

}  // namespace

PrivateServerOptions without_flushes() {
    return {.environment = {"LD_PRELOAD=" LEASEHOLD_NO_FLUSH_LIBRARY}};
}

PrivatePostgres::PrivatePostgres(PrivateServerOptions options)
    : options_(std::move(options)), folder_("leasehold-postgres") {
    folder_.give_to("postgres");
    make_data_folder(folder_, "postgres",
                     {postgres_program("initdb"), "-U", "postgres", "--auth=trust", "-E", "UTF8",
                      "--locale=C.UTF-8", "--no-sync"},
                     "--pgdata=");
    launch_on_some_port(port_, [this] { launch(); });
    create_database("locks");
}

PrivatePostgres::PrivatePostgres(StandbyOf of, PrivateServerOptions options)
    : options_(std::move(options)), folder_("leasehold-postgres") {
    folder_.give_to("postgres");
    run_setup(folder_, "postgres",
              {postgres_program("pg_basebackup"), "--pgdata", folder_.path() / "data",
               "--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--dbname",
               "host=127.0.0.1 port=" + std::to_string(of.port) +
                   " user=postgres application_name=standby"});
    launch_on_some_port(port_, [this] { launch(); });
}

PrivatePostgres::~PrivatePostgres() {
    server_.reset();
    if (folder_.made_here()) remove_shared_memory(folder_.path() / "data");
}

std::string PrivatePostgres::url(std::string_view database, std::uint16_t port) const {
    return "postgres://postgres@127.0.0.1:" + std::to_string(port) + "/" + std::string(database);
}

void PrivatePostgres::create_database(const std::string& name) {
    const auto connection = connect_postgres(folder_.path(), port_, "postgres");
    const std::unique_ptr<char, decltype(&PQfreemem)> quoted(
        PQescapeIdentifier(connection.get(), name.data(), name.size()), PQfreemem);
    if (!quoted) throw std::runtime_error(PQerrorMessage(connection.get()));
    execute("postgres", "CREATE DATABASE " + std::string(quoted.get()));
}

void PrivatePostgres::promote() {
    execute("postgres", "SELECT pg_promote()");
}

void PrivatePostgres::kill() {
    server_.reset();
}

void PrivatePostgres::start() {
    if (server_) throw std::logic_error("the server was not killed");
    launch();
}

void PrivatePostgres::pause() {
    started(server_).pause();
}

void PrivatePostgres::resume() {
    started(server_).resume();
}

void PrivatePostgres::launch() {
    const fs::path log = folder_.path() / "log";
    Command command{.arguments = {postgres_program("postgres"), "-D", folder_.path() / "data", "-p",
                                  std::to_string(port_), "-k", folder_.path()},
                    .user = "postgres",
                    .folder = folder_.path(),
                    .environment = options_.environment,
                    .log = log};
    // Dynamic shared memory in files under the data folder: a killed server must not leave any in
    // /dev/shm.
    std::vector<std::string> settings{"listen_addresses=127.0.0.1", "max_connections=50",
                                      "shared_buffers=32MB", "dynamic_shared_memory_type=mmap"};
    settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
    for (const auto& setting : settings) {
        command.arguments.push_back("-c");
        command.arguments.push_back(setting);
    }
    server_.emplace(command);
    try {
        wait_until_ready(*server_, log, [this] { execute("postgres", "SELECT 1"); });
    } catch (...) {
        server_.reset();
        throw;
    }
    connect_postgres("127.0.0.1", port_, "postgres");
}

void PrivatePostgres::execute(const std::string& database, const std::string& sql) const {
    const auto connection = connect_postgres(folder_.path(), port_, database);
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection.get(), sql.c_str()), PQclear);
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        throw std::runtime_error(sql + ": " + PQerrorMessage(connection.get()));
    }
}

PrivateMariadb::PrivateMariadb(PrivateServerOptions options)
    : PrivateMariadb(Product::mariadb, std::move(options)) {}

PrivateMariadb::PrivateMariadb(Product product, PrivateServerOptions options)
    : product_(product),
      options_(std::move(options)),
      folder_(product == Product::mariadb ? "leasehold-mariadb" : "leasehold-mysql") {
    make_data();
    launch_on_some_port(port_, [this] { launch(); });
    if (product_ == Product::mariadb) {
        execute("CREATE USER 'app'@'%' IDENTIFIED BY 'secret'");
        execute("GRANT ALL PRIVILEGES ON *.* TO 'app'@'%' WITH GRANT OPTION");
        create_database("locks");
    }
    connect_mariadb(
        {.host = "127.0.0.1", .user = "app", .password = "secret", .port = port_, .socket = {}});
}

void PrivateMariadb::make_data() const {
    if (product_ == Product::mysql) {
        (void)mysqld();
        run_setup(folder_, "",
                  {"cp", "-r", "--sparse=always", mysql_root() / "empty", folder_.path() / "data"});
        return;
    }
    folder_.give_to("mysql");
    make_data_folder(folder_, "mysql",
                     {mariadb_program("mariadb-install-db"), "--no-defaults",
                      "--auth-root-authentication-method=normal", "--skip-test-db",
                      "--innodb-log-file-size=16M"},
                     "--datadir=");
}

PrivateMariadb::PrivateMariadb(Joins /*joins*/, PrivateServerOptions options)
    : product_(Product::mariadb), options_(std::move(options)), folder_("leasehold-mariadb") {
    fs::create_directory(folder_.path() / "data");
    folder_.give_to("mysql");
    run_setup(folder_, "", {"chown", "mysql", folder_.path() / "data"});
    launch_on_some_port(port_, [this] { launch(); });
}

std::string PrivateMariadb::url(std::string_view database, std::uint16_t port) const {
    return (product_ == Product::mariadb ? "mariadb" : "mysql") +
           ("://app:secret@127.0.0.1:" + std::to_string(port)) + "/" + std::string(database);
}

void PrivateMariadb::create_database(const std::string& name) {
    std::string quoted = "`";
    for (const char c : name) quoted += c == '`' ? std::string("``") : std::string(1, c);
    execute("CREATE DATABASE " + quoted + "`");
}

void PrivateMariadb::kill() {
    server_.reset();
}

void PrivateMariadb::start() {
    if (server_) throw std::logic_error("the server was not killed");
    launch();
}

void PrivateMariadb::pause() {
    started(server_).pause();
}

void PrivateMariadb::resume() {
    started(server_).resume();
}

Command PrivateMariadb::command() const {
    const fs::path& folder = folder_.path();
    std::vector<std::string> arguments{mariadb_program("mariadbd"), "--no-defaults"};
    std::vector<std::string> own{"--innodb-log-file-size=16M"};
    if (product_ == Product::mysql) {
        arguments = mysqld();
        // Without native I/O every write passes the C library, where tests make disks fail.
        own = {"--user=root", "--mysqlx=OFF", "--secure-file-priv=" + folder.string(),
               "--innodb-redo-log-capacity=16M", "--innodb-use-native-aio=OFF"};
    }
    for (const std::string& option :
         {"--datadir=" + (folder / "data").string(), "--socket=" + (folder / "socket").string(),
          "--pid-file=" + (folder / "pid").string(), "--tmpdir=" + folder.string(),
          "--port=" + std::to_string(port_), std::string("--bind-address=127.0.0.1"),
          std::string("--skip-name-resolve"), std::string("--innodb-buffer-pool-size=64M")}) {
        arguments.push_back(option);
    }
    arguments.insert(arguments.end(), own.begin(), own.end());
    return {.arguments = arguments,
            .user = product_ == Product::mariadb ? "mysql" : "",
            .folder = folder,
            .environment = options_.environment,
            .log = folder / "log"};
}

void PrivateMariadb::launch() {
    Command command = this->command();
    const fs::path log = command.log;
    command.arguments.insert(command.arguments.end(), options_.settings.begin(),
                             options_.settings.end());
    const auto first = std::exchange(options_.first_settings, {});
    command.arguments.insert(command.arguments.end(), first.begin(), first.end());
    server_.emplace(command);
    try {
        wait_until_ready(*server_, log, [this] { execute("SELECT 1"); });
    } catch (...) {
        server_.reset();
        throw;
    }
}

void PrivateMariadb::execute(const std::string& sql) const {
    const auto connection = connect_mariadb({.host = "localhost",
                                             .user = "root",
                                             .password = "",
                                             .port = 0,
                                             .socket = folder_.path() / "socket"});
    MYSQL* server = connection.get();
    if (mysql_real_query(server, sql.data(), sql.size()) != 0) {
        throw std::runtime_error(sql + ": " + mysql_error(server));
    }
    mysql_free_result(mysql_store_result(server));
}

PrivateMysql::PrivateMysql(PrivateServerOptions options)
    : PrivateMariadb(Product::mysql, std::move(options)) {}

bool PrivateMysql::is_there() {
    return fs::exists(mysql_root() / "complete");
}

PrivatePostgres& shared_postgres() {
    static PrivatePostgres server{without_flushes()};
    return server;
}

PrivateMariadb& shared_mariadb() {
    static PrivateMariadb server{without_flushes()};
    return server;
}

PrivateMysql& shared_mysql() {
    static PrivateMysql server{without_flushes()};
    return server;
}

}  // namespace leasehold::testing
