//===- Safetensors.cpp - Find the tensors of a safetensors file -----------===//
//
// Layout: the header's length (8 bytes, little endian), the header in JSON, the
// tensors' bytes.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

using namespace frit;
using Json = nlohmann::json;

/// Longest header that the format allows, in bytes.
static constexpr uint64_t kLongestHeader = 100'000'000;

namespace {

/// SAX parser of the header. It keeps only the tensors, so memory stays bounded
/// by their number, and rejects anything but an object of objects whose values
/// are strings or lists of natural numbers:
///
///   {"__metadata__": {"producer": "frit"},
///    "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
class HeaderReader final : public nlohmann::json_sax<Json> {
public:
  HeaderReader(uint64_t dataBytes, std::map<std::string, StoredTensor> &tensors,
               std::map<std::string, std::string> *metadata)
      : dataBytes(dataBytes), tensors(tensors), metadata(metadata) {}

  /// What is wrong with a tensor: "tensor 'w' needs ..."; empty if the text as
  /// a whole is damaged.
  std::string why;

  bool start_object(size_t) override {
    place = place == nowhere ? header : place == header ? entry : wrong;
    if (place == entry) {
      isMetadata = member == "__metadata__";
      name = std::move(member);
      tensor = {};
      range.clear();
    }
    return place != wrong;
  }
  bool key(string_t &text) override {
    member = std::move(text);
    return true;
  }
  bool end_object() override {
    bool good = place == header || isMetadata || add();
    place = place == entry ? header : nowhere;
    return good;
  }

  bool string(string_t &text) override {
    if (place == entry && isMetadata && metadata)
      (*metadata)[member] = std::move(text);
    if (place != entry || isMetadata)
      return place == entry;
    tensor.type = std::move(text);
    return member == "dtype";
  }

  bool start_array(size_t) override {
    if (place != entry || isMetadata)
      return false;
    place = list;
    numbers = member == "shape"          ? &tensor.dims
              : member == "data_offsets" ? &range
                                         : nullptr;
    if (numbers)
      numbers->clear();
    return numbers;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (place != list || value > INT64_MAX)
      return false;
    numbers->push_back(int64_t(value));
    return true;
  }
  bool end_array() override {
    place = entry;
    return true;
  }

  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t) override { return false; }
  bool number_float(number_float_t, const string_t &) override { return false; }
  bool binary(binary_t &) override { return false; }
  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &) override {
    return false;
  }

private:
  /// State of the parser: the object that encloses the next value.
  enum Place { nowhere, header, entry, list, wrong };

  bool refuse(const std::string &what) {
    why = format("tensor '%s' %s", name.c_str(), what.c_str());
    return false;
  }

  bool add() {
    if (range.size() != 2 || tensor.type.empty())
      return refuse("needs a dtype, a shape and two data_offsets");
    if (range[0] > range[1] || uint64_t(range[1]) > dataBytes)
      return refuse(format("lies at bytes %lld to %lld of the file's %llu",
                           (long long)range[0], (long long)range[1],
                           (unsigned long long)dataBytes));
    tensor.offset = uint64_t(range[0]);
    tensor.bytes = uint64_t(range[1] - range[0]);
    return tensors.emplace(name, std::move(tensor)).second ||
           refuse("is there twice");
  }

  uint64_t dataBytes;
  std::map<std::string, StoredTensor> &tensors;
  std::map<std::string, std::string> *metadata;
  Place place = nowhere;
  bool isMetadata = false;
  std::string name, member;
  StoredTensor tensor;
  std::vector<int64_t> range, *numbers = nullptr;
};

} // namespace

/// Checks that tensors follow each other without gaps to the end of the file,
/// as the format says.
static Status checkPlaces(const std::map<std::string, StoredTensor> &tensors,
                          uint64_t dataBytes) {
  std::vector<std::pair<uint64_t, uint64_t>> places;
  for (const auto &[name, tensor] : tensors)
    places.push_back({tensor.offset, tensor.offset + tensor.bytes});
  std::ranges::sort(places);
  uint64_t end = 0;
  for (auto [start, next] : places) {
    if (start < end)
      return Status(FRIT_IO_ERROR, "two of its tensors overlap");
    if (start > end)
      break;
    end = next;
  }
  if (end == dataBytes)
    return Status();
  return Status(FRIT_IO_ERROR,
                format("bytes of data behind the first %llu of %llu belong to "
                       "no tensor: it is damaged",
                       (unsigned long long)end, (unsigned long long)dataBytes));
}

Status frit::readSafetensors(const uint8_t *data, uint64_t size,
                             std::map<std::string, StoredTensor> &tensors,
                             std::map<std::string, std::string> *metadata) {
  uint64_t length = 0;
  if (size >= sizeof length)
    memcpy(&length, data, sizeof length);
  if (size < sizeof length || length > kLongestHeader ||
      length > size - sizeof length)
    return Status(FRIT_IO_ERROR, "it is cut off, or no safetensors file");
  uint64_t start = sizeof length + length;
  HeaderReader reader(size - start, tensors, metadata);
  if (!Json::sax_parse(data + sizeof length, data + start, &reader))
    return Status(FRIT_IO_ERROR,
                  reader.why.empty() ? "its header is damaged" : reader.why);
  if (Status placed = checkPlaces(tensors, size - start); placed.failed())
    return placed;
  for (auto &[name, tensor] : tensors)
    tensor.offset += start;
  return Status();
}
