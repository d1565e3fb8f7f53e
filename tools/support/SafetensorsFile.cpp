//===- SafetensorsFile.cpp - Write safetensors files ----------------------===//

#include "tools/support/SafetensorsFile.h"

#include "frit/dtype.h"
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

static std::string header(const std::vector<TensorView> &tensors,
                          const Metadata &metadata) {
  Json json = Json::object();
  if (!metadata.empty())
    json["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const TensorView &tensor : tensors) {
    auto type = frit::artifact::DType(tensor.dtype);
    json[tensor.name] = {
        {"dtype", frit::artifact::findDType(type)->stored},
        {"shape", tensor.dims},
        {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  // Names may be any bytes; those that are not UTF-8 are replaced.
  std::string text = jsonText(json);
  // Elements start at a multiple of 8 bytes.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

std::error_code
frit::tools::writeSafetensors(const std::string &path,
                              const std::vector<TensorView> &tensors,
                              const Metadata &metadata) {
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return lastError();
  std::string text = header(tensors, metadata);
  uint64_t length = text.size();
  std::string start(reinterpret_cast<const char *>(&length), sizeof length);
  start += text;
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
  Reader reader(bytes);
  std::string_view text = asText(reader.take(reader.number<uint64_t>()));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  Metadata metadata;
  if (!json.is_object() || !json.contains("__metadata__"))
    return metadata;
  for (const auto &[key, value] : json["__metadata__"].items())
    if (value.is_string())
      metadata[key] = value.get<std::string>();
  return metadata;
}
