#include "output.h"

#include <algorithm>
#include <iostream>

namespace scylla::cli {

namespace {

// In characters, not bytes: every byte of UTF-8 except continuation bytes.
std::size_t width(const std::string &text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Control characters must not reach a terminal or break a line of a table: names may contain anything.
std::string printable(const value &cell) {
    std::string text = cell.value_or("");
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
    return text;
}

std::string pad(const std::string &text, std::size_t to, bool right) {
    const std::string blanks(to - std::min(to, width(text)), ' ');
    return right ? blanks + text : text + blanks;
}

} // namespace

std::string to_table(const rows &answer) {
    std::vector<std::size_t> widths;
    for (const std::string &column : answer.columns)
        widths.push_back(width(column));
    for (const auto &row : answer.cells)
        for (std::size_t i = 0; i < row.size(); i++)
            widths[i] = std::max(widths[i], width(printable(row[i])));
    std::string text;
    const auto end_line = [&] {
        while (!text.empty() && text.back() == ' ')
            text.pop_back();
        text += '\n';
    };
    for (std::size_t i = 0; i < widths.size(); i++)
        text += (i > 0 ? "  " : "") + pad(answer.columns[i], widths[i], answer.numeric[i]);
    end_line();
    for (const auto &row : answer.cells) {
        for (std::size_t i = 0; i < row.size(); i++)
            text += (i > 0 ? "  " : "") + pad(printable(row[i]), widths[i], answer.numeric[i]);
        end_line();
    }
    return text;
}

std::string to_record(const rows &answer) {
    std::size_t widest = 0;
    for (const std::string &column : answer.columns)
        widest = std::max(widest, width(column));
    std::string text;
    for (const auto &row : answer.cells)
        for (std::size_t i = 0; i < row.size(); i++)
            if (row[i])
                text += pad(answer.columns[i], widest, false) + "  " + printable(row[i]) + "\n";
    return text;
}

void show(session &server, const std::string &sql, const std::vector<value> &parameters, form as) {
    switch (as) {
    case form::table:
        std::cout << to_table(server.query(sql, parameters));
        break;
    case form::record:
        std::cout << to_record(server.query(sql, parameters));
        break;
    case form::json:
        std::cout << *server.ask("select coalesce(pg_catalog.json_agg(t), '[]') from (" + sql + ") as t", parameters)
                  << '\n';
        break;
    case form::json_one:
        std::cout << *server.ask("select pg_catalog.row_to_json(t) from (" + sql + ") as t", parameters) << '\n';
        break;
    }
}

} // namespace scylla::cli
