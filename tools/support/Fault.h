//===- Fault.h - Result of a call that can fail ---------------------------===//
//
// The result of functions of tools that can fail. Other results are
// out-parameters, as in the runtime (see Status.h).
//
//   if (Fault fault = readTensors(path, tensors))
//     return fault;
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_SUPPORT_FAULT_H
#define FRIT_TOOLS_SUPPORT_FAULT_H

#include "tools/support/ExitStatus.h"

#include <cassert>
#include <string>
#include <utility>

namespace frit::tools {

/// Success, or a message and an exit status, which tells what is at fault.
class [[nodiscard]] Fault {
public:
  /// Constructs success.
  Fault() = default;
  explicit Fault(std::string message, ExitStatus status = kBadInput)
      : text(std::move(message)), exitStatus(status) {
    assert(status != kDone && "a fault is no success");
  }

  /// Returns whether the call failed.
  explicit operator bool() const { return exitStatus != kDone; }

  const std::string &message() const { return text; }
  /// Returns the exit status for a tool that ends because of this fault; kDone
  /// on success.
  ExitStatus status() const { return exitStatus; }

  /// Returns the same fault with its place: "place: message".
  Fault within(const std::string &place) const {
    return Fault(place + ": " + text, exitStatus);
  }

private:
  std::string text;
  ExitStatus exitStatus = kDone;
};

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_FAULT_H
