//===- Portable.cpp - For C libraries older than the build's --------------===//
//
// The static C++ library is made for the C library of the machine that builds.
// Its random_device, which every program refers to, is all that needs a
// function younger than the oldest C library that the portable tools run on
// (tools/dev/check_symbols.py). This is that function.
//
//===----------------------------------------------------------------------===//

#include <cerrno>
#include <sys/random.h>

/// Returns a random number, as glibc's function does since 2.36.
extern "C" unsigned arc4random() noexcept;

extern "C" unsigned arc4random() noexcept {
  unsigned bits = 0;
  // Signals do not cut short requests of up to 256 bytes.
  while (getrandom(&bits, sizeof bits, 0) != sizeof bits)
    if (errno != EINTR)
      __builtin_trap();
  return bits;
}
