//===- Table.cpp - Tables and figures for a terminal ----------------------===//

#include "Table.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

using namespace frit::run;

Table::Table(std::vector<std::string> titles) {
  for (std::string &title : titles) {
    right.push_back(title[0] == '>');
    if (right.back())
      title.erase(0, 1);
  }
  rows.push_back(std::move(titles));
}

void Table::print() const {
  std::vector<size_t> widths(right.size());
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const auto &row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      std::string blanks(widths[i] - row[i].size(), ' ');
      line += " " + (right[i] ? blanks + row[i] : row[i] + blanks) + " ";
    }
    line.resize(line.find_last_not_of(' ') + 1);
    puts(line.c_str());
  }
}

std::string frit::run::text(const char *pattern, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, pattern);
  vsnprintf(buffer, sizeof buffer, pattern, arguments);
  va_end(arguments);
  return buffer;
}

std::string frit::run::formatTime(double milliseconds) {
  if (milliseconds < 1)
    return text("%.1f us", milliseconds * 1e3);
  if (milliseconds < 1000)
    return text("%.3f ms", milliseconds);
  return text("%.2f s", milliseconds / 1e3);
}
