//===- Target.h - Shared code of the fuzz targets -------------------------===//
//
// A target is a function that accepts arbitrary bytes. With FRIT_FUZZ,
// libFuzzer calls it; otherwise Replay.cpp does, with kept inputs.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_FUZZ_TARGET_H
#define FRIT_TEST_FUZZ_TARGET_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace frit::fuzz {

/// Aborts because an invariant is violated without a crash.
[[noreturn]] inline void broken(const char *promise) {
  fprintf(stderr, "broken promise: %s\n", promise);
  abort();
}

} // namespace frit::fuzz

#endif // FRIT_TEST_FUZZ_TARGET_H
