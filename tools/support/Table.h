//===- Table.h - Tables and figures for a terminal ------------------------===//

#ifndef FRIT_TOOLS_SUPPORT_TABLE_H
#define FRIT_TOOLS_SUPPORT_TABLE_H

#include <string>
#include <vector>

namespace frit::tools {

/// Prints rows in columns of equal width. A column whose title starts with '>'
/// is right-aligned.
class Table {
public:
  explicit Table(std::vector<std::string> titles);
  /// Adds a row; characters that are not printable are escaped.
  void add(std::vector<std::string> row);
  void print() const;

private:
  std::vector<bool> right;
  std::vector<std::vector<std::string>> rows;
};

[[gnu::format(printf, 1, 2)]] std::string text(const char *pattern, ...);

/// Formats milliseconds: "1.234 ms".
std::string formatTime(double milliseconds);

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_TABLE_H
