//===- Interrupts.h - Remove temporary files on signals -------------------===//
//
// Plain C++, without LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_INTERRUPTS_H
#define FRIT_COMPILER_DRIVER_INTERRUPTS_H

#include <csignal>
#include <functional>
#include <string>

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
/// `make` returns the path, or "" after a failure, as this does.
std::string makeTemporary(const std::function<std::string()> &make);
/// Makes the file permanent.
void keepTemporary(const std::string &path);
/// Removes all temporary files now, for a program that ends by a fault of its
/// own. Safe in a signal handler.
void removeTemporaries();

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_INTERRUPTS_H
