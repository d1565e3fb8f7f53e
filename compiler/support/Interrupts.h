//===- Interrupts.h - Remove temporary files on signals -------------------===//
//
// Plain C++, without LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_INTERRUPTS_H
#define FRIT_COMPILER_SUPPORT_INTERRUPTS_H

#include <csignal>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace frit {

/// Makes SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE and SIGXCPU remove the
/// temporary files and then end the program as usual. Signals that were ignored
/// at the first call stay ignored. A write past the file size limit fails with
/// EFBIG instead of raising a signal. Call this first of all, and again after a
/// library has installed handlers, as InitLLVM does.
void handleInterrupts();

/// Handles SIGHUP, SIGINT, SIGQUIT and SIGTERM on a thread of their own, so
/// that handlers which libraries such as NVRTC install do no harm. Call this
/// after handleInterrupts() and before any thread is started.
void watchInterrupts();

/// Scope in which this thread blocks and ignores no signal for frit's sake, so
/// that programs which it starts inherit no such setting.
class ChildSignals {
public:
  ChildSignals();
  ChildSignals(const ChildSignals &) = delete;
  ~ChildSignals();

private:
  sigset_t before;
};

/// Registers a file or an empty folder to remove when a signal ends the
/// program, the last registered first.
void addTemporary(const std::string &path);
/// Creates a file with `make` and registers it before any signal is handled.
/// `path` is a pattern that `make` completes in place, as mkdtemp() does.
/// Returns false if `make` does.
bool makeTemporary(std::string &path, const std::function<bool(char *)> &make);
/// Makes the file permanent.
void keepTemporary(const std::string &path);

/// Ends the program by a fault that it cannot return from: writes the parts of
/// `message`, at most eight, removes all temporary files and exits. Allocates
/// nothing and is safe in a signal handler. Of several threads, only the first
/// has a say.
[[noreturn]] void endAtFault(int status,
                             std::initializer_list<std::string_view> message);

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_INTERRUPTS_H
