//===- Interrupts.h - Ended by a signal, leaving nothing behind -----------===//
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

/// From here on SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE and SIGXCPU remove
/// the temporary files and then end the program as they would have done; those
/// that were ignored at the first call stay so. A file that grows past its
/// limit is an error of the write (EFBIG) and no signal. Call it first of all,
/// and again after a library has installed handlers, as InitLLVM does.
void handleInterrupts();

/// Takes SIGHUP, SIGINT, SIGQUIT and SIGTERM on a thread of their own from here
/// on, so that a library may install handlers as it likes, as NVRTC does. Call
/// this after handleInterrupts() and before any thread is started.
void watchInterrupts();

/// While it lives, no signal is blocked or ignored on this thread's behalf, so
/// that programs which it starts do not inherit that.
class ChildSignals {
public:
  ChildSignals();
  ChildSignals(const ChildSignals &) = delete;
  ~ChildSignals();

private:
  sigset_t before;
};

/// A file or an empty folder that is removed when a signal ends the program.
/// Later ones are removed first.
void addTemporary(const std::string &path);
/// Creates a file with `make` and registers it, with no signal between the
/// two. `make` returns its path, or "" after a failure, as this does.
std::string makeTemporary(const std::function<std::string()> &make);
/// Makes the file permanent.
void keepTemporary(const std::string &path);
/// Removes all of them now, for a program that ends by a fault of its own. Safe
/// in a signal handler.
void removeTemporaries();

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_INTERRUPTS_H
