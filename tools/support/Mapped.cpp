//===- Mapped.cpp - Tensors of files that are not read into memory --------===//

#include "tools/support/Mapped.h"
#include "compiler/support/OutputFile.h"
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

/// Maps an open file; `file` is -1 if opening it failed.
static Fault mapOpened(int file, Bytes &bytes,
                       std::shared_ptr<const void> &owner) {
  bytes = {};
  struct stat facts;
  if (file < 0 || fstat(file, &facts) != 0)
    return Fault(strerror(errno));
  if (!S_ISREG(facts.st_mode))
    return Fault("it is not a regular file");
  size_t size = size_t(facts.st_size);
  if (!size)
    return {};
  void *data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (data == MAP_FAILED)
    return Fault(strerror(errno));
  bytes = {static_cast<const uint8_t *>(data), size};
  owner = std::shared_ptr<const void>(data, [size](const void *from) {
    munmap(const_cast<void *>(from), size);
  });
  return {};
}

Fault frit::tools::mapFile(const std::string &path, Bytes &bytes,
                           std::shared_ptr<const void> &owner) {
  // Opening a pipe would wait for a writer.
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  Fault fault = mapOpened(file, bytes, owner);
  if (file >= 0)
    close(file);
  if (fault)
    return fault.within("cannot read '" + path + "'");
  protectInput(path);
  return {};
}

/// Finds a .npy's elements if the file has them in memory's layout.
static bool viewNpy(Bytes bytes, TensorView &view) {
  Tensor header;
  NpyLayout layout;
  if (readNpyHeader(bytes, header, layout) || layout.header.isBigEndian ||
      (layout.header.isColumnMajor && header.dims.size() > 1) ||
      layout.dataBytes > bytes.size() - layout.header.size)
    return false;
  view.dtype = header.dtype;
  view.dims = header.dims;
  view.data = bytes.subspan(layout.header.size, layout.dataBytes);
  return true;
}

Fault frit::tools::mapTensors(const std::string &path,
                              std::vector<TensorView> &tensors) {
  tensors.clear();
  Bytes bytes;
  std::shared_ptr<const void> owner;
  if (Fault fault = mapFile(path, bytes, owner))
    return fault;
  std::string_view start =
      asText(bytes.first(std::min<size_t>(bytes.size(), 9)));
  TensorView view;
  if (start.starts_with(kNpyMagic) && viewNpy(bytes, view)) {
    view.owner = owner;
    tensors.push_back(std::move(view));
    return {};
  }
  if (start.size() == 9 && start[8] == '{') {
    if (Fault fault = viewSafetensors(bytes, tensors))
      return fault.within("cannot read '" + path + "'");
    for (TensorView &tensor : tensors)
      tensor.owner = owner;
    return {};
  }
  std::vector<Tensor> read;
  if (Fault fault = readTensors(path, read))
    return fault;
  for (Tensor &tensor : read) {
    auto kept = std::make_shared<Tensor>(std::move(tensor));
    tensors.push_back({kept->name, kept->dtype, kept->dims, kept->data, kept});
  }
  return {};
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
