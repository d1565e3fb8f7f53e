//===- ExitStatus.h - What frit-run ends with -----------------------------===//

#ifndef FRIT_RUN_EXITSTATUS_H
#define FRIT_RUN_EXITSTATUS_H

namespace frit::run {

/// Documented in --help; the same as fritc's.
enum ExitStatus {
  kDone = 0,
  kBadInput = 1, ///< what was given is wrong, or the outputs differ
  kBadUsage = 2,
  kMachine = 4 ///< memory is missing, or results cannot be written
};

} // namespace frit::run

#endif // FRIT_RUN_EXITSTATUS_H
