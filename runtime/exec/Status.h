//===- Status.h - Result of a call inside the runtime ---------------------===//
//
// The runtime uses no exceptions: everything that can fail returns a Status
// with its message. The C interface turns it into a frit_status and the
// thread's frit_last_error().
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_EXEC_STATUS_H
#define FRIT_RUNTIME_EXEC_STATUS_H

#include "frit/runtime.h"

#include <string>
#include <utility>

namespace frit {

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(frit_status code, std::string message)
      : code(code), text(std::move(message)) {}

  bool failed() const { return code != FRIT_OK; }
  frit_status status() const { return code; }
  const std::string &message() const { return text; }

  /// Prefixes the message with the place of the failure: "where: message".
  Status within(const std::string &where) && {
    text = where + ": " + text;
    return std::move(*this);
  }

private:
  frit_status code = FRIT_OK;
  std::string text;
};

/// Returns the failure of a call with an invalid argument.
inline Status invalidArgument(std::string message) {
  return Status(FRIT_INVALID_ARGUMENT, std::move(message));
}

/// Formats like sprintf and returns a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...);

/// Formats a byte count: "512 B", "3.2 MiB".
std::string formatBytes(uint64_t bytes);

} // namespace frit

/// Returns from the enclosing function when `expression` is a failed Status.
#define FRIT_TRY(expression)                                                   \
  do {                                                                         \
    if (::frit::Status status_ = (expression); status_.failed())               \
      return status_;                                                          \
  } while (false)

#endif // FRIT_RUNTIME_EXEC_STATUS_H
