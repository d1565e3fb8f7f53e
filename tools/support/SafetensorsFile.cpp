//===- SafetensorsFile.cpp - Write safetensors files ----------------------===//

#include "tools/support/SafetensorsFile.h"

#include "frit/safetensors.h"
#include "runtime/exec/Safetensors.h"
#include "tools/support/JsonText.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

using namespace frit::tools;
using Json = nlohmann::ordered_json;

static std::error_code lastError() {
  return std::error_code(errno, std::generic_category());
}

static std::error_code writeAll(int file, Bytes bytes) {
  while (!bytes.empty()) {
    ssize_t done = ::write(file, bytes.data(), bytes.size());
    if (done >= 0)
      bytes = bytes.subspan(size_t(done));
    else if (errno != EINTR)
      return lastError();
  }
  return {};
}

static std::string head(const std::vector<TensorView> &tensors,
                        const Metadata &metadata) {
  std::vector<frit::TensorToStore> stored;
  for (const TensorView &tensor : tensors)
    stored.push_back({tensor.name, frit::artifact::DType(tensor.dtype),
                      tensor.dims, tensor.data.size()});
  // Names may be any bytes; those that are not UTF-8 are replaced.
  return frit::safetensorsHead(stored, metadata, [](std::string_view text) {
    return jsonText(Json(std::string(text)));
  });
}

std::error_code
frit::tools::writeSafetensors(const std::string &path,
                              const std::vector<TensorView> &tensors,
                              const Metadata &metadata) {
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return lastError();
  std::string start = head(tensors, metadata);
  std::error_code error = writeAll(
      file, {reinterpret_cast<const uint8_t *>(start.data()), start.size()});
  for (const TensorView &tensor : tensors)
    if (!error)
      error = writeAll(file, tensor.data);
  if (!error && fsync(file) != 0 && errno != EINVAL)
    error = lastError();
  if (close(file) != 0 && !error)
    error = lastError();
  return error;
}

Metadata frit::tools::readMetadata(Bytes bytes) {
  std::map<std::string, StoredTensor> tensors;
  Metadata metadata;
  Status status =
      frit::readSafetensors(bytes.data(), bytes.size(), tensors, &metadata);
  return status.failed() ? Metadata() : metadata;
}
