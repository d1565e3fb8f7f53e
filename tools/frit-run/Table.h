//===- Table.h - Tables and figures for a terminal ------------------------===//

#ifndef FRIT_RUN_TABLE_H
#define FRIT_RUN_TABLE_H

#include <string>
#include <vector>

namespace frit::run {

/// Rows of texts in columns as wide as their widest one. A column whose title
/// starts with '>' is aligned to the right.
class Table {
public:
  explicit Table(std::vector<std::string> titles);
  /// What is not printable in a cell is escaped.
  void add(std::vector<std::string> row);
  void print() const;

private:
  std::vector<bool> right;
  std::vector<std::vector<std::string>> rows;
};

[[gnu::format(printf, 1, 2)]] std::string text(const char *pattern, ...);

/// "1.234 ms", from milliseconds.
std::string formatTime(double milliseconds);

} // namespace frit::run

#endif // FRIT_RUN_TABLE_H
