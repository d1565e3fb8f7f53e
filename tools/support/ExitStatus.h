//===- ExitStatus.h - Exit statuses of frit-run and frit-train ------------===//

#ifndef FRIT_TOOLS_SUPPORT_EXITSTATUS_H
#define FRIT_TOOLS_SUPPORT_EXITSTATUS_H

namespace frit::tools {

/// Documented in --help; the same as fritc's.
enum ExitStatus {
  kDone = 0,
  kBadInput = 1, ///< the input is at fault, or outputs differ
  kBadUsage = 2,
  kMachine = 4 ///< out of memory, or results cannot be written
};

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_EXITSTATUS_H
