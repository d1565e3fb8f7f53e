//===- ServeFault.h - Modules on a GPU that a fault breaks ----------------===//

#ifndef FRIT_TEST_RUNTIME_SERVEFAULT_H
#define FRIT_TEST_RUNTIME_SERVEFAULT_H

#include <string>

namespace frit::test {

/// Breaks the GPU's context, by a reset or a wrong pointer, while two modules
/// are open, and prints what becomes of them and of one that is opened later.
/// Returns the exit status: 0 if the last one runs.
int breakDevice(const std::string &path, bool resets);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_SERVEFAULT_H
