//===- OutputFile.cpp - Files that appear whole or not at all -------------===//

#include "compiler/support/OutputFile.h"

#include "compiler/support/Interrupts.h"
#include "compiler/support/OutputTarget.h"
#include "compiler/support/TemporaryFolder.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <random>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace frit;

namespace {
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
static std::string temporaryName(const OutputTarget &target) {
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
  OutputTarget target;
  if (std::error_code error = checkOutput(path))
    return error;
  if (std::error_code error = locate(path, STDOUT_FILENO, target))
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
  OutputTarget now;
  if (std::error_code error = locate(target, STDOUT_FILENO, now))
    return error;
  if (std::error_code error = refusalOf(now))
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
  OutputTarget target;
  if (std::error_code error = locate(path, STDOUT_FILENO, target))
    return error;
  if (std::error_code error = refusalOf(target))
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
