//===- OwnedFiles.cpp - Files that no output replaces ---------------------===//

#include "compiler/support/OwnedFiles.h"

#include "compiler/support/OutputTarget.h"

#include <algorithm>
#include <fcntl.h>
#include <link.h>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace frit;

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

namespace {
class FaultCategory final : public std::error_category {
public:
  const char *name() const noexcept override { return "output"; }
  std::string message(int fault) const override {
    switch (OutputFault(fault)) {
    case OutputFault::isInput:
      return "it is an input, which is not overwritten";
    case OutputFault::isFolder:
      return "it is a folder";
    case OutputFault::isProgram:
      return "this program runs from it";
    case OutputFault::isStandard:
      return "the program's messages go there";
    case OutputFault::isOwned:
      return "the program writes a file of its own there";
    case OutputFault::isOutput:
      return "another option names it";
    }
    return "";
  }
};
} // namespace

static const std::error_category &faultCategory() {
  static const FaultCategory category;
  return category;
}

std::error_code frit::make_error_code(OutputFault fault) {
  return std::error_code(int(fault), faultCategory());
}

bool frit::isOutputFault(std::error_code error) {
  return error.category() == faultCategory();
}

//===----------------------------------------------------------------------===//
// What the program owns
//===----------------------------------------------------------------------===//

namespace {
struct Input {
  std::string path; ///< as it was named first
  FilePlace place;
};

struct OwnNames {
  FileIdentity folder;
  std::string what;
  std::function<bool(std::string_view)> owns;
};

struct OwnedFiles {
  std::mutex mutex;
  std::vector<Input> inputs;
  std::vector<OwnNames> names;
};
} // namespace

static OwnedFiles &ownedFiles() {
  static OwnedFiles files;
  return files;
}

void frit::protectInput(const std::string &path) {
  OutputTarget target;
  if (locate(path, STDIN_FILENO, target) || !target.place.file)
    return;
  std::lock_guard lock(ownedFiles().mutex);
  // Files of this program's own, such as a checkpoint that it resumes from, are
  // kept from other outputs already, and it may replace them.
  for (const OwnNames &names : ownedFiles().names)
    if (names.folder == target.place.folder && names.owns(target.place.name))
      return;
  ownedFiles().inputs.push_back({path, target.place});
}

void frit::protectNames(const std::string &folder, const std::string &what,
                        std::function<bool(std::string_view)> owns) {
  std::optional<FileIdentity> identity = identityOf(folder);
  if (!identity)
    return;
  std::lock_guard lock(ownedFiles().mutex);
  ownedFiles().names.push_back({*identity, what, std::move(owns)});
}

/// Returns whether an input is still the file that was read. Another file may
/// get the number of one that was removed.
static bool stillExists(const Input &input) {
  return input.path == "-" || identityOf(input.path) == input.place.file;
}

/// Returns the input that lies at `place`, if there is one.
static std::optional<Input> inputAt(const FilePlace &place) {
  std::lock_guard lock(ownedFiles().mutex);
  for (const Input &input : ownedFiles().inputs)
    if (input.place.isSame(place) && stillExists(input))
      return input;
  return std::nullopt;
}

/// Returns what the program writes at `place` under a name of its own; "" if
/// nothing.
static std::string ownedAt(const FilePlace &place) {
  std::lock_guard lock(ownedFiles().mutex);
  for (const OwnNames &names : ownedFiles().names)
    if (names.folder == place.folder && names.owns(place.name))
      return names.what;
  return "";
}

/// Returns whether a file is the program or a library in its memory.
static bool isProgram(const FileIdentity &file) {
  auto isSame = [](dl_phdr_info *library, size_t, void *file) -> int {
    std::string path = library->dlpi_name;
    return identityOf(path.empty() ? "/proc/self/exe" : path) ==
           *static_cast<const FileIdentity *>(file);
  };
  return dl_iterate_phdr(isSame, const_cast<FileIdentity *>(&file));
}

/// Returns whether messages go to a file.
static bool isStandard(const FileIdentity &file) {
  return std::ranges::any_of(
      std::initializer_list{STDOUT_FILENO, STDERR_FILENO}, [&](int standard) {
        struct stat facts;
        return fstat(standard, &facts) == 0 &&
               file == FileIdentity{facts.st_dev, facts.st_ino};
      });
}

//===----------------------------------------------------------------------===//
// Checks of one output
//===----------------------------------------------------------------------===//

std::error_code frit::refusalOf(const OutputTarget &target) {
  const FilePlace &place = target.place;
  if (target.isFolder)
    return OutputFault::isFolder;
  if (inputAt(place))
    return OutputFault::isInput;
  if (place.file && isProgram(*place.file))
    return OutputFault::isProgram;
  // A stream goes to the same descriptor as the messages, after them.
  if (place.file && !target.isStream && isStandard(*place.file))
    return OutputFault::isStandard;
  return {};
}

static std::error_code locateOutput(const std::string &path,
                                    OutputTarget &target) {
  std::error_code error = locate(path, STDOUT_FILENO, target);
  return error ? error : refusalOf(target);
}

std::error_code frit::checkOutput(const std::string &path) {
  OutputTarget target;
  if (std::error_code error = locateOutput(path, target))
    return error;
  if (path == "-")
    return {};
  auto isDenied = [](const std::string &file, int mode) {
    return faccessat(AT_FDCWD, file.c_str(), mode, AT_EACCESS) != 0;
  };
  // Replacing a file needs a writable folder only; refuse files that are not
  // writable themselves.
  if ((target.exists && isDenied(target.path, W_OK)) ||
      (!target.isStream && isDenied(folderOf(target.path), W_OK | X_OK)))
    return lastError();
  return {};
}

std::string frit::describeOutputError(const std::string &path,
                                      std::error_code error) {
  std::string why = error.message();
  OutputTarget target;
  if (isOutputFault(error) && !locate(path, STDOUT_FILENO, target)) {
    std::optional<Input> input = inputAt(target.place);
    std::string owned = ownedAt(target.place);
    bool hasOtherName = input && (input->place.name != target.place.name ||
                                  input->place.folder != target.place.folder);
    if (error == OutputFault::isInput && hasOtherName)
      why = "it is the input '" + input->path + "', which is not overwritten";
    if (error == OutputFault::isOwned && !owned.empty())
      why = "it is the name of " + owned;
    if (error != OutputFault::isFolder)
      why += "; name another file";
  }
  return "cannot write " +
         (path == "-" ? "to the standard output" : "'" + path + "'") + ": " +
         why;
}

bool frit::isStreamOutput(const std::string &path) {
  OutputTarget target;
  return !locateOutput(path, target) && target.isStream;
}

//===----------------------------------------------------------------------===//
// Checks of all outputs
//===----------------------------------------------------------------------===//

bool frit::isSameOutput(const std::string &one, const std::string &other) {
  OutputTarget first, second;
  if (locateOutput(one, first) || locateOutput(other, second))
    return one == other;
  if (first.isStream && second.isStream)
    return one == "-" && other == "-";
  return one == other || first.place.isSame(second.place);
}

OutputRefusal frit::checkOutputs(std::span<const OutputName> outputs) {
  auto refuse = [](const std::string &path, std::error_code error) {
    return OutputRefusal{error, describeOutputError(path, error)};
  };
  for (const OutputName &output : outputs) {
    if (std::error_code error = checkOutput(output.path))
      return refuse(output.path, error);
    OutputTarget target;
    if (!locate(output.path, STDOUT_FILENO, target) &&
        !ownedAt(target.place).empty())
      return refuse(output.path, OutputFault::isOwned);
    for (const OutputName *other = outputs.data(); other != &output; ++other)
      if (isSameOutput(output.path, other->path))
        return {OutputFault::isOutput, other->option + " and " + output.option +
                                           " write the same file, '" +
                                           output.path + "'"};
  }
  return {};
}
