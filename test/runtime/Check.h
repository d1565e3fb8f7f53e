//===- Check.h - Checks for unit tests of the runtime ---------------------===//

#ifndef FRIT_TEST_RUNTIME_CHECK_H
#define FRIT_TEST_RUNTIME_CHECK_H

#include "frit/runtime.h"

#include <cstdio>
#include <cstring>
#include <string>

namespace frit::test {

inline int failures = 0;

inline void check(bool good, const char *text, const char *file, int line) {
  if (good)
    return;
  ++failures;
  fprintf(stderr, "%s:%d: failed: %s (last error: %s)\n", file, line, text,
          frit_last_error());
}

/// Returns whether the last error contains `part`; prints it if not.
inline bool lastErrorHas(const char *part) {
  return strstr(frit_last_error(), part) != nullptr;
}

/// Returns the exit status for main.
inline int finish(const char *name) {
  if (failures)
    fprintf(stderr, "%s: %d checks failed\n", name, failures);
  else
    printf("%s: passed\n", name);
  return failures ? 1 : 0;
}

} // namespace frit::test

#define CHECK(condition)                                                       \
  ::frit::test::check(bool(condition), #condition, __FILE__, __LINE__)

#endif // FRIT_TEST_RUNTIME_CHECK_H
