//===- Stack.h - Enough stack for a program -------------------------------===//
//
// Plain C++, without LLVM. `ulimit -s` may leave a program less stack than the
// libraries take that it loads.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_STACK_H
#define FRIT_COMPILER_SUPPORT_STACK_H

#include <functional>

namespace frit {

/// Returns what `work` returns. Where the process was given less stack than a
/// program usually has, `work` runs on a thread that has as much, and so do the
/// threads that it starts.
int runOnLargeStack(const std::function<int()> &work);

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_STACK_H
