//===- Check.h - What a unit test of the runtime needs --------------------===//

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

/// Whether the last error has `part` in it; prints it where it has not.
inline bool lastErrorHas(const char *part) {
  return strstr(frit_last_error(), part) != nullptr;
}

/// What main returns.
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
