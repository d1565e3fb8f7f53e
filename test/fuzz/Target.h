//===- Target.h - What every target of the fuzzer has ---------------------===//
//
// A target is a function that any bytes may be given to. libFuzzer calls it
// where the build has FRIT_FUZZ; elsewhere Replay.cpp does, with the inputs
// that were kept.
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

/// A promise that was broken, where nothing crashed.
[[noreturn]] inline void broken(const char *promise) {
  fprintf(stderr, "broken promise: %s\n", promise);
  abort();
}

} // namespace frit::fuzz

#endif // FRIT_TEST_FUZZ_TARGET_H
