//===- Progress.h - Progress of long work ---------------------------------===//
//
// Plain C++, without LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_PROGRESS_H
#define FRIT_COMPILER_SUPPORT_PROGRESS_H

#include <cstdint>
#include <memory>
#include <string>

namespace frit {

/// One line on standard error that is updated in place:
///
///   compile kernels for sm_90a: 112 of 507, conv_relu_3, 8 s
///
/// It is printed only if standard error is a terminal and the work takes more
/// than two seconds, and is cleared on destruction. If several are live at
/// once, only the first is shown.
class Progress {
public:
  /// `what` names the work: "compile kernels for sm_90a".
  explicit Progress(std::string what);
  Progress(const Progress &) = delete;
  ~Progress();

  /// Shows that `done` of `total` parts are finished and `detail` comes next.
  /// Without a total, only the seconds are shown. Cheap and thread-safe.
  void update(uint64_t done, uint64_t total, const std::string &detail = "");

  /// Clears the line for a message. The next update shows it again.
  static void hide();
  /// Clears the line for the last message of a program. Allocates nothing,
  /// waits for no thread, and is safe in a signal handler.
  static void clearAtFault();

private:
  struct State;
  std::unique_ptr<State> state; ///< null where nothing is shown
};

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_PROGRESS_H
