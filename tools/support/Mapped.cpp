//===- Mapped.cpp - Tensors of files that are not read into memory --------===//

#include "tools/support/Mapped.h"
#include "compiler/driver/OutputFile.h"
#include "tools/support/ExitStatus.h"
#include "tools/support/Files.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace frit;
using namespace frit::tools;

bool frit::tools::mapFile(const std::string &path, Bytes &bytes,
                          std::shared_ptr<const void> &owner,
                          std::string &error) {
  // Opening a pipe would wait for a writer.
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts;
  bool good = file >= 0 && fstat(file, &facts) == 0;
  error = strerror(errno);
  if (good && !S_ISREG(facts.st_mode)) {
    error = "it is not a regular file";
    good = false;
  }
  size_t size = good ? size_t(facts.st_size) : 0;
  bytes = {};
  if (good && size) {
    void *data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    good = data != MAP_FAILED;
    error = strerror(errno);
    if (good) {
      bytes = {static_cast<const uint8_t *>(data), size};
      owner = std::shared_ptr<const void>(data, [size](const void *from) {
        munmap(const_cast<void *>(from), size);
      });
    }
  }
  if (file >= 0)
    close(file);
  if (good)
    protectInput(path);
  else
    error = "cannot read '" + path + "': " + error;
  return good;
}

/// Finds a .npy's elements if they lie in the file as they do in memory.
static bool viewNpy(Bytes bytes, TensorView &view) {
  Tensor header;
  NpyLayout layout;
  std::string error;
  if (!readNpyHeader(bytes, header, layout, error) || layout.isBigEndian ||
      (layout.isColumnMajor && header.dims.size() > 1) ||
      layout.dataBytes > bytes.size() - layout.headerBytes)
    return false;
  view.dtype = header.dtype;
  view.dims = header.dims;
  view.data = bytes.subspan(layout.headerBytes, layout.dataBytes);
  return true;
}

bool frit::tools::mapTensors(const std::string &path,
                             std::vector<TensorView> &tensors,
                             std::string &error) {
  tensors.clear();
  Bytes bytes;
  std::shared_ptr<const void> owner;
  if (!mapFile(path, bytes, owner, error))
    return false;
  std::string_view start =
      asText(bytes.first(std::min<size_t>(bytes.size(), 9)));
  TensorView view;
  if (start.starts_with("\x93NUMPY") && viewNpy(bytes, view)) {
    view.owner = owner;
    tensors.push_back(std::move(view));
    return true;
  }
  if (start.size() == 9 && start[8] == '{') {
    if (!viewSafetensors(bytes, tensors, error)) {
      error = "cannot read '" + path + "': " + error;
      return false;
    }
    for (TensorView &tensor : tensors)
      tensor.owner = owner;
    return true;
  }
  std::vector<Tensor> read;
  if (!readTensors(path, read, error))
    return false;
  for (Tensor &tensor : read) {
    auto kept = std::make_shared<Tensor>(std::move(tensor));
    tensors.push_back({kept->name, kept->dtype, kept->dims, kept->data, kept});
  }
  return true;
}

void frit::tools::handleLostFiles() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    static constexpr char message[] =
        ": a file became shorter while it was used, or cannot be read\n";
    const char *name = program_invocation_short_name;
    [[maybe_unused]] ssize_t written =
        write(STDERR_FILENO, name, strlen(name)) +
        write(STDERR_FILENO, message, sizeof message - 1);
    _exit(kMachine);
  };
  sigaction(SIGBUS, &action, nullptr);
}
