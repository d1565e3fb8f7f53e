//===- Outputs.cpp - Write outputs, run linkers ---------------------------===//

#include "compiler/driver/Outputs.h"

#include "compiler/driver/Status.h"
#include "compiler/support/Interrupts.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

using namespace llvm;
using namespace frit;

Error frit::outputError(StringRef path, std::error_code error) {
  if (!error)
    return Error::success();
  return make_error<StatusError>(isOutputFault(error) ? kBadUsage : kMachine,
                                 describeOutputError(path.str(), error));
}

Error frit::outputError(StringRef path, Error error) {
  return outputError(path, errorToErrorCode(std::move(error)));
}

Error frit::refusalError(const OutputRefusal &refusal) {
  if (!refusal.code)
    return Error::success();
  return make_error<StatusError>(
      isOutputFault(refusal.code) ? kBadUsage : kMachine, refusal.message);
}

Expected<OutputFile> frit::createOutput(StringRef path, mode_t mode) {
  OutputFile file;
  if (std::error_code error = OutputFile::create(path.str(), file, mode))
    return outputError(path, error);
  return file;
}

Error frit::writeText(StringRef path, StringRef text) {
  // Flush first, so that earlier output stays before it.
  outs().flush();
  return outputError(path, writeFile(path.str(), text));
}

int frit::finishOutput(StringRef tool, int status) {
  // Clear the errors of both streams, for which LLVM would end the program with
  // another status. Lost messages do not change the status.
  errs().clear_error();
  outs().flush();
  std::error_code error = outs().error();
  if (!error)
    return status;
  outs().clear_error();
  WithColor::error(errs(), tool)
      << "cannot write to the standard output: " << error.message() << "\n";
  errs().clear_error();
  return status ? status : int(kMachine);
}

/// Returns the path of the first of `names` that is installed, or "".
static std::string findProgram(ArrayRef<const char *> names) {
  for (const char *name : names)
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
  return "";
}

/// Returns the file that the loader opens for `name`, a library of the system;
/// "" if there is none. The names that linkers look for come with packages for
/// development.
static std::string findLibrary(const char *name) {
  std::string path;
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  link_map *map = nullptr;
  if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
    path = map->l_name;
  if (library)
    dlclose(library);
  return path;
}

/// Returns the path of this program, also where /proc is not mounted.
static std::string ownProgram() {
  std::string path = sys::fs::getMainExecutable(nullptr, nullptr);
  return path.empty() ? reinterpret_cast<const char *>(getauxval(AT_EXECFN))
                      : path;
}

/// Returns a command of a linker itself, after `command`.
static Command linkDirectly(Command command, ArrayRef<std::string> objects,
                            StringRef output) {
  command.append({"-shared", "-o", output.str()});
  append_range(command, objects);
  command.append({"-Bsymbolic", "--build-id=none", "--as-needed"});
  for (const char *name : {"libm.so.6", "libc.so.6"})
    if (std::string library = findLibrary(name); !library.empty())
      command.push_back(library);
  return command;
}

static constexpr const char *kCompilers[] = {"cc", "gcc", "clang"};
static constexpr const char *kLinkers[] = {"ld.lld", "ld.mold", "ld"};

Expected<Command> frit::linkCommand(ArrayRef<std::string> objects,
                                    StringRef output) {
  Command command;
  if (std::string path = findProgram(kCompilers); !path.empty()) {
    command = {path, "-shared", "-o", output.str()};
    append_range(command, objects);
    command.append({"-Wl,-Bsymbolic", "-Wl,--build-id=none", "-lm"});
    return command;
  }
  if (FRIT_LLD)
    return linkDirectly({ownProgram(), kLinkFlag.str()}, objects, output);
  if (std::string path = findProgram(kLinkers); !path.empty())
    return linkDirectly({path}, objects, output);
  return make_error<StatusError>(
      kMachine, "no linker found (cc, gcc, clang, ld.lld, mold or ld); use -c "
                "to write an object file, or install one of them");
}

Expected<Command> frit::joinCommand(ArrayRef<std::string> objects,
                                    StringRef output) {
  std::string path = findProgram(kLinkers);
  if (path.empty())
    return make_error<StatusError>(
        kMachine, "no linker found (ld.lld, mold or ld) that joins the objects "
                  "of custom operators; install one of them");
  Command command = {path, "-r", "-o", output.str()};
  append_range(command, objects);
  return command;
}

Expected<Command> frit::compileCommand(StringRef source, StringRef object,
                                       StringRef headers, StringRef folder,
                                       StringRef arch) {
  std::string path = findProgram(kCompilers);
  if (path.empty())
    return make_error<StatusError>(
        kMachine, "no C compiler found (cc, gcc or clang) for the host's "
                  "functions of custom operators; install one of them");
  return Command{path,
                 "-c",
                 "-O2",
                 "-fPIC",
                 "-fvisibility=hidden",
                 "-fno-math-errno",
                 ("-march=" + arch).str(),
                 "-Werror=implicit-function-declaration",
                 "-Werror=incompatible-pointer-types",
                 "-Werror=int-conversion",
                 "-MMD",
                 "-MF",
                 headers.str(),
                 "-iquote",
                 folder.str(),
                 "-o",
                 object.str(),
                 source.str()};
}

Error frit::run(ArrayRef<std::string> command, ExitStatus fault) {
  SmallVector<StringRef> words(command.begin(), command.end());
  std::string message;
  ChildSignals signals;
  int status = sys::ExecuteAndWait(command.front(), words, std::nullopt, {}, 0,
                                   0, &message);
  if (status == 0)
    return Error::success();
  return make_error<StatusError>(
      fault, "'" + join(words, " ") + "' failed" +
                 (message.empty() ? " with status " + std::to_string(status)
                                  : ": " + message));
}
