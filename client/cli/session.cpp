#include "session.h"

#include <cstring>
#include <iostream>
#include <sstream>

#include <termios.h>
#include <unistd.h>
#include <fcntl.h>

namespace scylla::cli {

failure::failure(const std::string &message, std::string detail, std::string hint, std::string sqlstate)
    : std::runtime_error{message}, m_detail{std::move(detail)}, m_hint{std::move(hint)}, m_sqlstate{
                                                                                             std::move(sqlstate)} {}

namespace {

std::string without_newline(const char *text) {
    std::string line = text == nullptr ? "" : text;
    while (!line.empty() && line.back() == '\n')
        line.pop_back();
    return line;
}

// libpq's message about a connection as one line and a hint. It may be about several hosts, and contain advice in lines
// that begin with a tab.
failure connection_failure(const PGconn *connection, std::string sqlstate = {}) {
    std::string message;
    std::string hint;
    std::istringstream lines{PQerrorMessage(connection)};
    for (std::string line; std::getline(lines, line);) {
        const bool advice = !line.empty() && line[0] == '\t';
        std::string &text = advice ? hint : message;
        if (advice)
            line.erase(0, 1);
        if (text.find(line) == std::string::npos)
            text += (text.empty() ? "" : advice ? " " : "; ") + line;
    }
    return failure{message, {}, std::move(hint), std::move(sqlstate)};
}

// From the terminal, not from standard input, which may be a task's specification.
std::string read_password() {
    const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal < 0)
        throw failure{"no terminal to ask for the password", {}, "Use a password file (~/.pgpass) or PGPASSWORD."};
    termios before{};
    tcgetattr(terminal, &before);
    termios silent = before;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(terminal, TCSAFLUSH, &silent);
    const char prompt[] = "Password: ";
    std::string password;
    char c = 0;
    if (write(terminal, prompt, sizeof prompt - 1) > 0)
        while (read(terminal, &c, 1) == 1 && c != '\n')
            password += c;
    tcsetattr(terminal, TCSAFLUSH, &before);
    [[maybe_unused]] const auto written = write(terminal, "\n", 1);
    close(terminal);
    return password;
}

PGconn *connect(const connection_options &options, const std::string &password) {
    std::vector<const char *> keywords;
    std::vector<const char *> values;
    const auto add = [&](const char *keyword, const char *text) {
        keywords.push_back(keyword);
        values.push_back(text);
    };
    // The name first, so that other options override a connection string, as in psql.
    if (options.dbname)
        add("dbname", options.dbname->c_str());
    if (options.host)
        add("host", options.host->c_str());
    if (options.port)
        add("port", options.port->c_str());
    if (options.user)
        add("user", options.user->c_str());
    if (!password.empty())
        add("password", password.c_str());
    add("fallback_application_name", "scylla");
    add("client_encoding", "UTF8");
    add(nullptr, nullptr);
    return PQconnectdbParams(keywords.data(), values.data(), 1);
}

struct clearer {
    void operator()(PGresult *result) const noexcept { PQclear(result); }
};

} // namespace

session::session(const connection_options &options) {
    std::string password;
    if (options.ask_password)
        password = read_password();
    m_connection.reset(connect(options, password));
    if (PQstatus(m_connection.get()) != CONNECTION_OK && PQconnectionNeedsPassword(m_connection.get()) != 0 &&
        password.empty() && !options.never_ask) {
        password = read_password();
        m_connection.reset(connect(options, password));
    }
    if (m_connection == nullptr)
        throw std::bad_alloc{};
    if (PQstatus(m_connection.get()) != CONNECTION_OK)
        throw connection_failure(m_connection.get());
    PQsetNoticeProcessor(
        m_connection.get(), [](void *, const char *text) { std::cerr << text; }, nullptr);
}

rows session::query(const std::string &sql, const std::vector<value> &parameters) {
    std::vector<const char *> texts;
    texts.reserve(parameters.size());
    for (const value &parameter : parameters)
        texts.push_back(parameter ? parameter->c_str() : nullptr);
    const std::unique_ptr<PGresult, clearer> result{PQexecParams(
        m_connection.get(), sql.c_str(), static_cast<int>(texts.size()), nullptr, texts.data(), nullptr, nullptr, 0)};
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        const auto field = [&](int code) { return without_newline(PQresultErrorField(result.get(), code)); };
        const std::string message = field(PG_DIAG_MESSAGE_PRIMARY);
        if (message.empty())
            throw connection_failure(m_connection.get(), "08006");
        const std::string sqlstate = field(PG_DIAG_SQLSTATE);
        if (sqlstate == "3F000" || sqlstate == "42P01" || sqlstate == "42883")
            explain_missing(message, sqlstate);
        std::string hint = field(PG_DIAG_MESSAGE_HINT);
        if (sqlstate == "22P02" && hint.empty() && message.find("json") != std::string::npos)
            hint = "JSON text has quotes of its own: '\"hello\"'.";
        throw failure{message, field(PG_DIAG_MESSAGE_DETAIL), std::move(hint), sqlstate};
    }
    rows answer;
    const int columns = PQnfields(result.get());
    for (int column = 0; column < columns; column++) {
        answer.columns.emplace_back(PQfname(result.get(), column));
        const Oid type = PQftype(result.get(), column);
        // int8, int2, int4, float4, float8, numeric
        answer.numeric.push_back((type >= 20 && type <= 23 && type != 22) || type == 700 || type == 701 ||
                                 type == 1700);
    }
    for (int row = 0; row < PQntuples(result.get()); row++) {
        auto &cells = answer.cells.emplace_back();
        for (int column = 0; column < columns; column++) {
            if (PQgetisnull(result.get(), row, column) != 0)
                cells.emplace_back();
            else
                cells.emplace_back(std::string{PQgetvalue(result.get(), row, column),
                                               static_cast<std::size_t>(PQgetlength(result.get(), row, column))});
        }
    }
    return answer;
}

// Explains why a schema, table or function does not exist: there is no extension, or it is older than this program.
void session::explain_missing(const std::string &message, const std::string &sqlstate) {
    if (PQtransactionStatus(m_connection.get()) == PQTRANS_INERROR)
        query("rollback"); // no query is answered before
    const rows installed = query("select extversion from pg_catalog.pg_extension where extname = 'scylla'");
    if (installed.cells.empty())
        throw failure{
            "database \"" + database() + "\" does not have the extension", {}, "See \"scylla init\".", sqlstate};
    const std::string version = installed.cells[0][0].value_or("");
    if (version != SCYLLA_VERSION)
        throw failure{message,
                      "The extension has version " + version +
                          " in this database, this program is of version " SCYLLA_VERSION ".",
                      "See \"scylla doctor\".", sqlstate};
}

value session::ask(const std::string &sql, const std::vector<value> &parameters) {
    rows answer = query(sql, parameters);
    if (answer.cells.size() != 1 || answer.cells[0].empty())
        throw failure{"unexpected answer from the server to: " + sql};
    return std::move(answer.cells[0][0]);
}

std::string session::conninfo() const {
    std::string text;
    PQconninfoOption *options = PQconninfo(m_connection.get());
    for (const PQconninfoOption *option = options; option != nullptr && option->keyword != nullptr; option++) {
        if (option->val == nullptr || *option->val == '\0' || std::strcmp(option->keyword, "replication") == 0)
            continue;
        // "any" is libpq's default, which is shown even if it was not given. The library has its own default.
        if (std::strcmp(option->keyword, "target_session_attrs") == 0 && std::strcmp(option->val, "any") == 0)
            continue;
        text += std::string{text.empty() ? "" : " "} + option->keyword + "='";
        for (const char *c = option->val; *c != '\0'; c++) {
            if (*c == '\'' || *c == '\\')
                text += '\\';
            text += *c;
        }
        text += "'";
    }
    PQconninfoFree(options);
    return text;
}

std::string session::database() const { return PQdb(m_connection.get()); }

std::string array_literal(const std::vector<std::string> &elements) {
    std::string text = "{";
    for (const std::string &element : elements) {
        text += text.size() > 1 ? ",\"" : "\"";
        for (const char c : element) {
            if (c == '"' || c == '\\')
                text += '\\';
            text += c;
        }
        text += '"';
    }
    return text += '}';
}

} // namespace scylla::cli
