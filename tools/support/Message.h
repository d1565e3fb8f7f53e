//===- Message.h - A tool's messages on standard error --------------------===//

#ifndef FRIT_TOOLS_SUPPORT_MESSAGE_H
#define FRIT_TOOLS_SUPPORT_MESSAGE_H

#include "tools/support/Fault.h"

#include <string>

namespace frit::tools {

/// Prints "TOOL: message" as one line of printable text, and returns false.
bool complain(const std::string &message);
bool complain(const Fault &fault);

/// Prints a fault, if it is one. Returns its exit status.
ExitStatus report(const Fault &fault);

/// Flushes standard output. If some of it was lost, says so and returns
/// kMachine instead of a `status` of 0.
int finishOutput(int status);

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_MESSAGE_H
