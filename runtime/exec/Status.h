//===- Status.h - What a call inside the runtime returns ------------------===//
//
// The runtime uses no exceptions: everything that can fail returns a Status,
// which carries its message along, and the C interface turns it into a
// frit_status and the thread's last error.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_EXEC_STATUS_H
#define FRIT_EXEC_STATUS_H

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

  /// The same failure, with where it happened put before its message.
  Status within(const std::string &where) && {
    text = where + ": " + text;
    return std::move(*this);
  }

private:
  frit_status code = FRIT_OK;
  std::string text;
};

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...);

/// A size for people: "512 B", "3.2 MiB".
std::string formatBytes(uint64_t bytes);

} // namespace frit

/// Returns from the enclosing function when `expression` is a failed Status.
#define FRIT_TRY(expression)                                                   \
  do {                                                                         \
    if (::frit::Status status_ = (expression); status_.failed())               \
      return status_;                                                          \
  } while (false)

#endif // FRIT_EXEC_STATUS_H
