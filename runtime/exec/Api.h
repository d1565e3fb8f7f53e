//===- Api.h - How the C interface tells of failures ----------------------===//

#ifndef FRIT_EXEC_API_H
#define FRIT_EXEC_API_H

#include "runtime/exec/Status.h"

namespace frit {

/// Keeps the message of a failure as the thread's last error.
frit_status report(Status status);

frit_status nullArgument(const char *function);
frit_status noSuchIndex(const char *function, uint32_t index);

} // namespace frit

#endif // FRIT_EXEC_API_H
