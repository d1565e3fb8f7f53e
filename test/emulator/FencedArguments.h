//===- FencedArguments.h - Arguments that end at a guard page -------------===//

#ifndef FRIT_TEST_EMULATOR_FENCEDARGUMENTS_H
#define FRIT_TEST_EMULATOR_FENCEDARGUMENTS_H

#include <cstdint>
#include <string>
#include <vector>

namespace frit::emulation {

/// Copies of a step's arguments that end at an inaccessible page, so that reads
/// or writes past their end are noticed. Overlapping arguments share a copy.
class FencedArguments {
public:
  FencedArguments() = default;
  FencedArguments(const FencedArguments &) = delete;
  ~FencedArguments();

  /// Adds `bytes` bytes of an argument, before any is copied.
  void add(void *original, uint64_t bytes, bool written);
  /// Copies the arguments; returns false if there is no memory.
  bool copyIn();
  /// Returns the address of an argument in its copy.
  void *addressOf(void *original, uint64_t bytes) const;
  /// Copies the arguments that a kernel may have written back.
  void copyOut() const;

private:
  struct Part {
    uint8_t *begin, *end; ///< of the original
    bool written;
    uint8_t *copy = nullptr;
    uint8_t *mapping = nullptr;
    uint64_t mapped = 0;
  };
  std::vector<Part> parts;
};

/// During its lifetime, an access to unmapped memory ends the program with a
/// message that names the kernel.
class KernelRun {
public:
  explicit KernelRun(const std::string &kernel);
  KernelRun(const KernelRun &) = delete;
  ~KernelRun();
};

} // namespace frit::emulation

#endif // FRIT_TEST_EMULATOR_FENCEDARGUMENTS_H
