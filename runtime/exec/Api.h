//===- Api.h - Error reporting of the C interface -------------------------===//

#ifndef FRIT_RUNTIME_EXEC_API_H
#define FRIT_RUNTIME_EXEC_API_H

#include "runtime/exec/Status.h"

namespace frit {

/// Stores a failed status's message as the thread's frit_last_error() and
/// returns the status's code.
frit_status report(Status status);

/// Reports FRIT_INVALID_ARGUMENT: a pointer given to `function` is null.
frit_status nullArgument(const char *function);
frit_status noSuchIndex(const char *function, uint32_t index);

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_API_H
