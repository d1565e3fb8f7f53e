//===- OutputFile.cpp - Files that appear whole or not at all -------------===//

#include "compiler/driver/OutputFile.h"

#include "compiler/driver/Interrupts.h"
#include "compiler/driver/TemporaryFolder.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <random>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace frit;

static std::error_code lastError() {
  return std::error_code(errno, std::generic_category());
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

namespace {

class FaultCategory final : public std::error_category {
public:
  const char *name() const noexcept override { return "output"; }
  std::string message(int fault) const override {
    return OutputFault(fault) == OutputFault::isInput
               ? "it is an input, which is not overwritten"
               : "it is a folder";
  }
};

/// Identifies a file, whatever its name is.
using Identity = std::pair<dev_t, ino_t>;

struct Inputs {
  std::mutex mutex;
  std::vector<Identity> files;
};

/// Owner of a file descriptor.
class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  explicit operator bool() const { return number >= 0; }
  int get() const { return number; }
  /// Closes the file. Some file systems report a failed write only now.
  std::error_code close() {
    int closed = ::close(std::exchange(number, -1));
    return closed == 0 ? std::error_code() : lastError();
  }

private:
  int number;
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

static Inputs &inputs() {
  static Inputs inputs;
  return inputs;
}

static int statusOf(const std::string &path, int standard,
                    struct stat &status) {
  return path == "-" ? fstat(standard, &status) : stat(path.c_str(), &status);
}

void frit::protectInput(const std::string &path) {
  struct stat status;
  if (statusOf(path, STDIN_FILENO, status) != 0 || !S_ISREG(status.st_mode))
    return;
  std::lock_guard lock(inputs().mutex);
  inputs().files.emplace_back(status.st_dev, status.st_ino);
}

static bool isInput(const struct stat &status) {
  std::lock_guard lock(inputs().mutex);
  const std::vector<Identity> &files = inputs().files;
  return std::find(files.begin(), files.end(),
                   Identity(status.st_dev, status.st_ino)) != files.end();
}

//===----------------------------------------------------------------------===//
// Checks of an output's path
//===----------------------------------------------------------------------===//

static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

static std::string nameOf(const std::string &path) {
  return path.substr(path.rfind('/') + 1);
}

namespace {
struct Target {
  std::string path; ///< behind all links
  bool isStream = false;
  bool exists = false;
};
} // namespace

/// The type of /proc, which <linux/magic.h> calls PROC_SUPER_MAGIC.
static constexpr long kProc = 0x9fa0;

/// Returns whether a link lies in /proc, as those behind /dev/stdout do, and so
/// stands for an open file.
static bool isOpenFile(const std::string &link) {
  struct statfs facts;
  return statfs(folderOf(link).c_str(), &facts) == 0 && facts.f_type == kProc;
}

/// Follows links, even to a file that does not exist yet.
static std::error_code follow(Target &target) {
  for (int links = 0;; ++links) {
    struct stat status;
    if (lstat(target.path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode))
      return {};
    if (links == 40)
      return std::error_code(ELOOP, std::generic_category());
    if (isOpenFile(target.path)) {
      target.isStream = true;
      return {};
    }
    char text[PATH_MAX];
    ssize_t length = readlink(target.path.c_str(), text, sizeof text);
    if (length < 0)
      return lastError();
    std::string next(text, size_t(length));
    target.path =
        next.starts_with("/") ? next : folderOf(target.path) + "/" + next;
  }
}

static std::error_code resolve(const std::string &path, Target &target) {
  target.path = path;
  target.isStream = path == "-";
  if (path.empty())
    return std::error_code(ENOENT, std::generic_category());
  if (!target.isStream)
    if (std::error_code error = follow(target))
      return error;
  struct stat status;
  if (statusOf(target.path, STDOUT_FILENO, status) != 0) {
    if (errno != ENOENT)
      return lastError();
    return path.ends_with("/") ? OutputFault::isFolder : std::error_code();
  }
  target.exists = true;
  if (S_ISDIR(status.st_mode))
    return OutputFault::isFolder;
  if (S_ISREG(status.st_mode) && isInput(status))
    return OutputFault::isInput;
  target.isStream |= !S_ISREG(status.st_mode);
  return {};
}

bool frit::isStreamOutput(const std::string &path) {
  Target target;
  return !resolve(path, target) && target.isStream;
}

bool frit::isSameOutput(const std::string &one, const std::string &other) {
  Target first, second;
  if (resolve(one, first) || resolve(other, second))
    return one == other;
  if (first.isStream || second.isStream)
    return one == "-" && other == "-";
  struct stat a, b;
  if (stat(folderOf(first.path).c_str(), &a) != 0 ||
      stat(folderOf(second.path).c_str(), &b) != 0)
    return one == other;
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
         nameOf(first.path) == nameOf(second.path);
}

std::error_code frit::checkOutput(const std::string &path) {
  Target target;
  if (std::error_code error = resolve(path, target))
    return error;
  if (path == "-")
    return {};
  // Replacing a file needs a writable folder only; refuse files that are not
  // writable themselves.
  if (target.exists &&
      faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0)
    return lastError();
  if (!target.isStream && faccessat(AT_FDCWD, folderOf(target.path).c_str(),
                                    W_OK | X_OK, AT_EACCESS) != 0)
    return lastError();
  return {};
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::error_code writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t done = ::write(file, bytes.data(), bytes.size());
    if (done >= 0)
      bytes.remove_prefix(size_t(done));
    else if (errno != EINTR)
      return lastError();
  }
  return {};
}

/// Returns the descriptor that a path such as /dev/stdout stands for, or -1.
static int ownDescriptor(const std::string &path) {
  if (path == "-")
    return STDOUT_FILENO;
  char folder[PATH_MAX];
  if (!realpath(folderOf(path).c_str(), folder) ||
      folder != "/proc/" + std::to_string(getpid()) + "/fd")
    return -1;
  return atoi(nameOf(path).c_str());
}

/// Opens a device, pipe or descriptor to write into. A descriptor that is open
/// already keeps its position.
static int openStream(const std::string &target) {
  int own = ownDescriptor(target);
  return own >= 0 ? dup(own)
                  : open(target.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

static std::error_code copyInto(const std::string &target,
                                const std::string &from) {
  Descriptor in(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in)
    return lastError();
  Descriptor out(openStream(target));
  if (!out)
    return lastError();
  std::vector<char> buffer(1 << 20);
  while (true) {
    ssize_t count = ::read(in.get(), buffer.data(), buffer.size());
    if (count == 0)
      return out.close();
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return lastError();
    if (auto error = writeAll(out.get(), {buffer.data(), size_t(count)}))
      return error;
  }
}

OutputFile::OutputFile(OutputFile &&other) { *this = std::move(other); }

OutputFile &OutputFile::operator=(OutputFile &&other) {
  std::swap(target, other.target);
  std::swap(temporary, other.temporary);
  std::swap(isStream, other.isStream);
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() {
  if (temporary.empty())
    return;
  unlink(temporary.c_str());
  keepTemporary(temporary);
  temporary.clear();
}

/// Returns a new name in the target's folder, or in the one for temporary
/// files.
static std::string temporaryName(const Target &target) {
  static std::random_device random;
  char ending[16];
  snprintf(ending, sizeof ending, ".%08x", unsigned(random()));
  if (target.isStream)
    return temporaryPlace() + "/frit" + ending;
  std::string name = nameOf(target.path);
  name.resize(std::min<size_t>(name.size(), NAME_MAX - sizeof ending));
  return folderOf(target.path) + "/" + name + ending;
}

std::error_code OutputFile::create(const std::string &path, OutputFile &file,
                                   mode_t mode) {
  Target target;
  if (std::error_code error = checkOutput(path))
    return error;
  if (std::error_code error = resolve(path, target))
    return error;
  while (true) {
    std::string name = temporaryName(target);
    // Register the file before it exists; a signal in between would leave it.
    addTemporary(name);
    Descriptor created(
        open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (created) {
      OutputFile result;
      result.target = target.path;
      result.temporary = name;
      result.isStream = target.isStream;
      file = std::move(result);
      return {};
    }
    std::error_code error = lastError();
    keepTemporary(name);
    if (error != std::errc::file_exists)
      return error;
  }
}

std::error_code OutputFile::commit() {
  // Check again: more inputs may be known by now.
  Target now;
  if (std::error_code error = resolve(target, now))
    return error;
  if (isStream || now.isStream) {
    std::error_code error = copyInto(target, temporary);
    discard();
    return error;
  }
  if (rename(temporary.c_str(), target.c_str()) != 0)
    return lastError();
  keepTemporary(temporary);
  temporary.clear();
  return {};
}

std::error_code frit::writeFile(const std::string &path,
                                std::string_view bytes) {
  Target target;
  if (std::error_code error = resolve(path, target))
    return error;
  if (target.isStream) {
    Descriptor out(openStream(target.path));
    if (!out)
      return lastError();
    if (std::error_code error = writeAll(out.get(), bytes))
      return error;
    return out.close();
  }
  OutputFile file;
  if (std::error_code error = OutputFile::create(path, file))
    return error;
  Descriptor out(open(file.path().c_str(), O_WRONLY | O_CLOEXEC));
  if (!out)
    return lastError();
  if (std::error_code error = writeAll(out.get(), bytes))
    return error;
  if (std::error_code error = out.close())
    return error;
  return file.commit();
}
