//===- Linking.h - Commands of linkers and C compilers --------------------===//
//
// A machine that compiles models needs no compiler or linker of its own, as
// long as no custom operator has functions in C.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_LINKING_H
#define FRIT_COMPILER_DRIVER_LINKING_H

#include "compiler/driver/Outputs.h"
#include "compiler/support/TemporaryFolder.h"

#include "frit/host_arch.h"

namespace frit {

/// What follows the program in a command that runs LLVM's linker inside fritc.
inline constexpr llvm::StringLiteral kLinkFlag = "-fuse-linker";

/// What an artifact is linked for.
struct LinkedFor {
  HostMachine machine;
  HostSystem system = HostSystem::gnuLinux;

  bool operator==(const LinkedFor &) const = default;
};

/// Returns the command that links objects into the shared library `output`.
/// For this kind of machine: by an installed compiler, else by the linker
/// inside fritc if it was built with one, else by an installed linker. For
/// another: by the linker inside fritc, else by an installed cross compiler or
/// a linker for several machines. For Windows: by MinGW. If there is none, the
/// error says how to get one.
///
/// For another machine with Linux the C library need not be here: what the
/// objects call is linked to a stub of it, a file in `folder`. Without a folder
/// the stub is left out.
llvm::Expected<Command> linkCommand(LinkedFor place,
                                    llvm::ArrayRef<std::string> objects,
                                    llvm::StringRef output,
                                    TemporaryFolder *folder = nullptr);

/// Returns the command that joins objects into one.
llvm::Expected<Command> joinCommand(LinkedFor place,
                                    llvm::ArrayRef<std::string> objects,
                                    llvm::StringRef output);

/// Returns the command that compiles a user's C for `arch`, a CPU target, with
/// headers from `folder`. The command writes a Makefile rule that lists these
/// headers to `headers`. Fails if no compiler is installed.
llvm::Expected<Command> compileCommand(llvm::StringRef source,
                                       llvm::StringRef object,
                                       llvm::StringRef headers,
                                       llvm::StringRef folder,
                                       llvm::StringRef arch, HostSystem system);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_LINKING_H
