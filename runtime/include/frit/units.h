//===- units.h - Amounts of memory for people -----------------------------===//

#ifndef FRIT_UNITS_H
#define FRIT_UNITS_H

#include <cstdint>
#include <cstdio>
#include <string>

namespace frit {

/// Formats a number of bytes in the unit that suits it: "512 B", "1.5 GiB".
inline std::string memoryText(uint64_t bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  unsigned unit = 0;
  // What would be rounded to 1024.0 is 1.0 of the next unit.
  for (; value >= 1023.95 && unit < 4; ++unit)
    value /= 1024;
  char text[32];
  snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

} // namespace frit

#endif // FRIT_UNITS_H
