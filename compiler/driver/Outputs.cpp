//===- Outputs.cpp - Files that appear whole or not at all ----------------===//

#include "compiler/driver/Outputs.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <sys/stat.h>

using namespace llvm;
using namespace frit;

/// Devices and pipes, /dev/null say, are written to and never replaced.
static bool isDeviceOrPipe(StringRef path) {
  sys::fs::file_status status;
  return !sys::fs::status(path, status) && sys::fs::exists(status) &&
         !sys::fs::is_regular_file(status) && !sys::fs::is_directory(status);
}

Expected<PendingFile> PendingFile::create(StringRef finalPath) {
  SmallString<128> model(finalPath), path;
  model += ".%%%%%%%%";
  int descriptor;
  if (std::error_code error =
          isDeviceOrPipe(finalPath)
              ? sys::fs::createTemporaryFile("fritc", "", descriptor, path)
              : sys::fs::createUniqueFile(model, descriptor, path))
    return createFileError(finalPath, error);
  raw_fd_ostream(descriptor, /*shouldClose=*/true);
  PendingFile file;
  file.finalPath = finalPath;
  file.temporary = path.str();
  // An interrupt leaves nothing behind.
  sys::RemoveFileOnSignal(file.temporary);
  return file;
}

PendingFile::PendingFile(PendingFile &&other)
    : finalPath(std::move(other.finalPath)),
      temporary(std::exchange(other.temporary, std::string())) {}

PendingFile::~PendingFile() {
  if (temporary.empty())
    return;
  sys::fs::remove(temporary);
  sys::DontRemoveFileOnSignal(temporary);
}

Error PendingFile::commit() {
  if (isDeviceOrPipe(finalPath)) {
    if (std::error_code error = sys::fs::copy_file(temporary, finalPath))
      return createFileError(finalPath, error);
    return Error::success();
  }
  // Unique files are private; the result has the mode any new file gets.
  mode_t mask = ::umask(0);
  ::umask(mask);
  bool runs = StringRef(finalPath).ends_with(".so");
  (void)sys::fs::setPermissions(
      temporary, sys::fs::perms((runs ? 0777 : 0666) & ~unsigned(mask)));
  if (std::error_code error = sys::fs::rename(temporary, finalPath))
    return createFileError(finalPath, error);
  sys::DontRemoveFileOnSignal(temporary);
  temporary.clear();
  return Error::success();
}

Error frit::writeText(StringRef path, StringRef text) {
  if (path == "-") {
    outs() << text;
    outs().flush();
    return Error::success();
  }
  Expected<PendingFile> file = PendingFile::create(path);
  if (!file)
    return file.takeError();
  std::error_code error;
  raw_fd_ostream os(file->path(), error);
  if (error)
    return createFileError(path, error);
  os << text;
  os.close();
  if (os.has_error()) {
    error = os.error();
    os.clear_error();
    return createFileError(path, error);
  }
  return file->commit();
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
  return createStringError(
      "no linker found (cc, gcc, clang, ld.lld, mold or ld); use -c to write "
      "an object file, or install one of them");
}

Error frit::run(ArrayRef<std::string> command) {
  SmallVector<StringRef> words(command.begin(), command.end());
  std::string message;
  int status = sys::ExecuteAndWait(command.front(), words, std::nullopt, {}, 0,
                                   0, &message);
  if (status == 0)
    return Error::success();
  return createStringError("'" + join(words, " ") + "' failed" +
                           (message.empty()
                                ? " with status " + std::to_string(status)
                                : ": " + message));
}
