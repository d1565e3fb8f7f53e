//===- Status.h - Exit statuses of fritc ----------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_STATUS_H
#define FRIT_COMPILER_DRIVER_STATUS_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace frit {

/// Exit statuses, documented in --help.
enum ExitStatus {
  kDone = 0,
  kBadInput = 1,
  kBadUsage = 2,
  kBug = 3,
  /// Memory, disk or a tool is missing, or an output cannot be written.
  kMachine = 4
};

/// An error that is not the input's fault.
class StatusError : public llvm::ErrorInfo<StatusError> {
public:
  static char ID;

  StatusError(ExitStatus status, const llvm::Twine &message)
      : status(status), message(message.str()) {}

  void log(llvm::raw_ostream &os) const override { os << message; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

  const ExitStatus status;

private:
  std::string message;
};

/// Returns the exit status for an error.
ExitStatus statusOf(const llvm::Error &error);

/// Returns `error` with the status kMachine.
llvm::Error ofMachine(llvm::Error error);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_STATUS_H
