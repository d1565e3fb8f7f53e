//===- OwnedFiles.h - Files that no output replaces -----------------------===//
//
// No output of a tool replaces, or is appended to, a file that the run reads, a
// file that it writes under names of its own, or another output: neither by the
// same name nor by a link, a bind mount or an open descriptor. Every tool
// registers its files here, and asks before it begins to work. OutputFile.h
// asks again when it writes.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_OWNEDFILES_H
#define FRIT_COMPILER_SUPPORT_OWNEDFILES_H

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace frit {

struct OutputTarget;

/// Reason to refuse an output; a user error.
enum class OutputFault {
  isInput = 1, ///< the program reads it, maybe under another name
  isFolder,
  isProgram,  ///< it is the program itself, or one of its libraries
  isStandard, ///< the standard output or the standard error goes there
  isOwned,    ///< the program writes it, under a name of its own
  isOutput,   ///< another option names it
};
std::error_code make_error_code(OutputFault fault);
/// Returns whether `error` is an OutputFault.
bool isOutputFault(std::error_code error);

/// Remembers a file that this program reads; "-" is standard input. Ignores a
/// file that does not exist.
void protectInput(const std::string &path);

/// Remembers that this program writes files of its own to `folder`, which
/// exists: those whose names `owns` accepts. `what` says what they are, as in
/// "a checkpoint".
void protectNames(const std::string &folder, const std::string &what,
                  std::function<bool(std::string_view name)> owns);

/// An output of this program, and the option that names it.
struct OutputName {
  std::string option, path;
};

/// Why an output is refused.
struct OutputRefusal {
  std::error_code code; ///< success: it is not refused
  std::string message;  ///< "cannot write 'FILE': why"
};

/// Checks all outputs that options name, before any is written: each by itself,
/// beside the names that protectNames knows, and beside each other.
OutputRefusal checkOutputs(std::span<const OutputName> outputs);

/// Returns why `path` cannot be written; success if nothing is known to prevent
/// it.
std::error_code checkOutput(const std::string &path);

/// Returns why a located output is refused, whatever its permissions are.
std::error_code refusalOf(const OutputTarget &target);

/// Returns "cannot write 'path': why", where `error` is what prevents it. Names
/// the input that the path leads to, and the standard output for "-".
std::string describeOutputError(const std::string &path, std::error_code error);

/// Returns whether `path` is a stream, not a file: standard output, a device or
/// a pipe. It has no folder for further files.
bool isStreamOutput(const std::string &path);

/// Returns whether two outputs are the same file. Devices and pipes may be
/// named twice.
bool isSameOutput(const std::string &one, const std::string &other);

} // namespace frit

template <>
struct std::is_error_code_enum<frit::OutputFault> : std::true_type {};

#endif // FRIT_COMPILER_SUPPORT_OWNEDFILES_H
