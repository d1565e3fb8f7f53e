//===- Outputs.cpp - What fritc writes ------------------------------------===//

#include "compiler/driver/Outputs.h"

#include "compiler/driver/Interrupts.h"
#include "compiler/driver/Status.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace frit;

Error frit::outputError(StringRef path, std::error_code error) {
  if (!error)
    return Error::success();
  return make_error<StatusError>(isOutputFault(error) ? kBadUsage : kMachine,
                                 "cannot write '" + path +
                                     "': " + error.message());
}

Error frit::outputError(StringRef path, Error error) {
  return outputError(path, errorToErrorCode(std::move(error)));
}

Expected<OutputFile> frit::createOutput(StringRef path, mode_t mode) {
  OutputFile file;
  if (std::error_code error = OutputFile::create(path.str(), file, mode))
    return outputError(path, error);
  return file;
}

Error frit::writeText(StringRef path, StringRef text) {
  // What was printed before comes before it.
  outs().flush();
  return outputError(path, writeFile(path.str(), text));
}

Expected<SmallVector<std::string>> frit::linkCommand(StringRef object,
                                                     StringRef output) {
  for (const char *name : {"cc", "gcc", "clang"})
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return SmallVector<std::string>{*path,
                                      "-shared",
                                      "-o",
                                      output.str(),
                                      object.str(),
                                      "-Wl,-Bsymbolic",
                                      "-Wl,--build-id=none",
                                      "-lm"};
  for (const char *name : {"ld.lld", "ld.mold", "ld"})
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return SmallVector<std::string>{*path,        "-shared",    "-o",
                                      output.str(), object.str(), "-Bsymbolic"};
  return make_error<StatusError>(
      kMachine, "no linker found (cc, gcc, clang, ld.lld, mold or ld); use -c "
                "to write an object file, or install one of them");
}

Error frit::run(ArrayRef<std::string> command) {
  SmallVector<StringRef> words(command.begin(), command.end());
  std::string message;
  ChildSignals signals;
  int status = sys::ExecuteAndWait(command.front(), words, std::nullopt, {}, 0,
                                   0, &message);
  if (status == 0)
    return Error::success();
  return make_error<StatusError>(
      kMachine, "'" + join(words, " ") + "' failed" +
                    (message.empty() ? " with status " + std::to_string(status)
                                     : ": " + message));
}
