//===- Status.cpp - Format messages ---------------------------------------===//

#include "runtime/exec/Status.h"

#include "frit/units.h"

#include <cstdarg>
#include <cstdio>

using namespace frit;

std::string frit::format(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  std::string text(size_t(vsnprintf(nullptr, 0, pattern, arguments)), '\0');
  vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  va_end(arguments);
  return text;
}

std::string frit::formatBytes(uint64_t bytes) { return memoryText(bytes); }
