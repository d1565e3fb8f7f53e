//===- Fault.h - Result of a call that can fail ---------------------------===//
//
// What the functions of tools return that can fail. Their other results are
// out-parameters, as in the runtime (see Status.h).
//
//   if (Fault fault = readTensors(path, tensors))
//     return fault;
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_FAULT_H
#define FRIT_TOOLS_FAULT_H

#include "tools/support/ExitStatus.h"

#include <cassert>
#include <string>
#include <utility>

namespace frit::tools {

/// Success, or a message and whose fault it is.
class [[nodiscard]] Fault {
public:
  /// Success.
  Fault() = default;
  explicit Fault(std::string message, ExitStatus status = kBadInput)
      : text(std::move(message)), exitStatus(status) {
    assert(status != kDone && "a fault is no success");
  }

  /// Returns whether the call failed.
  explicit operator bool() const { return exitStatus != kDone; }

  const std::string &message() const { return text; }
  /// The exit status of a tool that ends because of it; kDone on success.
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

#endif // FRIT_TOOLS_FAULT_H
