//===- Table.cpp - Tables and figures for a terminal ----------------------===//

#include "tools/support/Table.h"
#include "frit/printable.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

using namespace frit::tools;

Table::Table(std::vector<std::string> titles) {
  for (std::string &title : titles) {
    right.push_back(title[0] == '>');
    if (right.back())
      title.erase(0, 1);
    // A title may be a name from the model, such as a symbol's.
    title = frit::printable(title);
  }
  rows.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> row) {
  for (std::string &cell : row)
    cell = frit::printable(cell);
  rows.push_back(std::move(row));
}

/// Returns the terminal columns of a text: one per code point.
static size_t columnsOf(const std::string &text) {
  return size_t(std::count_if(text.begin(), text.end(),
                              [](char c) { return (c & 0xc0) != 0x80; }));
}

void Table::print() const {
  std::vector<size_t> widths(right.size());
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], columnsOf(row[i]));
  for (const auto &row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      std::string blanks(widths[i] - columnsOf(row[i]), ' ');
      line += " " + (right[i] ? blanks + row[i] : row[i] + blanks) + " ";
    }
    line.resize(line.find_last_not_of(' ') + 1);
    puts(line.c_str());
  }
}

std::string frit::tools::text(const char *pattern, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, pattern);
  vsnprintf(buffer, sizeof buffer, pattern, arguments);
  va_end(arguments);
  return buffer;
}

std::string frit::tools::formatTime(double milliseconds) {
  if (milliseconds < 1)
    return text("%.1f us", milliseconds * 1e3);
  if (milliseconds < 1000)
    return text("%.3f ms", milliseconds);
  return text("%.2f s", milliseconds / 1e3);
}
