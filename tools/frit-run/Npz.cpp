//===- Npz.cpp - numpy's archives -----------------------------------------===//
//
// A zip file of .npy files, stored or deflated. The list at its end is what
// counts: numpy writes the sizes in front of an entry in other ways.
//
//===----------------------------------------------------------------------===//

#include "Bytes.h"

#include <zlib.h>

using namespace frit::run;

static constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50,
                          kEnd = 0x06054b50;
static constexpr uint64_t kLargest = uint64_t(1) << 36;

namespace {
struct Entry {
  std::string name;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0, offset = 0;
};
} // namespace

/// Sizes past 32 bits are in an extra field, in this order, where the plain
/// ones are all ones.
static void readLargeSizes(Bytes extra, Entry &entry) {
  Reader reader(extra);
  while (!reader.atEnd()) {
    uint16_t id = reader.number<uint16_t>();
    Reader field(reader.take(reader.number<uint16_t>()));
    if (id != 1)
      continue;
    for (uint64_t *value : {&entry.size, &entry.packed, &entry.offset})
      if (*value == 0xffffffff)
        *value = field.number<uint64_t>();
  }
}

static bool inflateEntry(Bytes packed, std::vector<uint8_t> &result) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  size_t in = 0, out = 0;
  int status = Z_OK;
  // zlib counts in 32 bits, so large entries go in pieces.
  while (status == Z_OK) {
    uInt inStep = uInt(std::min<size_t>(packed.size() - in, 1u << 30));
    uInt outStep = uInt(std::min<size_t>(result.size() - out, 1u << 30));
    stream.next_in = const_cast<Bytef *>(packed.data() + in);
    stream.avail_in = inStep;
    stream.next_out = result.data() + out;
    stream.avail_out = outStep;
    status = inflate(&stream, Z_NO_FLUSH);
    in += inStep - stream.avail_in;
    out += outStep - stream.avail_out;
    if (status == Z_OK && inStep == stream.avail_in &&
        outStep == stream.avail_out)
      break;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && out == result.size();
}

static bool readEntry(Bytes bytes, const Entry &entry, Tensor &tensor,
                      std::string &error) {
  error = "entry '" + entry.name + "' is damaged";
  if (entry.offset > bytes.size())
    return false;
  Reader local(bytes.subspan(entry.offset));
  if (local.number<uint32_t>() != kLocal)
    return false;
  local.take(22);
  uint16_t nameLength = local.number<uint16_t>();
  uint16_t extraLength = local.number<uint16_t>();
  local.take(nameLength + extraLength);
  Bytes packed = local.take(entry.packed);
  // Deflate packs at most about a thousand to one.
  if (local.failed || entry.size > kLargest ||
      entry.size / 1100 > entry.packed + 1)
    return false;
  std::vector<uint8_t> unpacked;
  if (entry.method == 0) {
    unpacked.assign(packed.begin(), packed.end());
  } else if (entry.method == 8) {
    unpacked.resize(entry.size);
    if (!inflateEntry(packed, unpacked))
      return false;
  } else {
    error = "entry '" + entry.name + "' is packed in an unknown way";
    return false;
  }
  if (crc32_z(0, unpacked.data(), unpacked.size()) != entry.crc)
    return false;
  std::string why;
  if (!readNpy(unpacked, tensor, why)) {
    error = "entry '" + entry.name + "': " + why;
    return false;
  }
  tensor.name = entry.name;
  if (tensor.name.ends_with(".npy"))
    tensor.name.resize(tensor.name.size() - 4);
  return true;
}

bool frit::run::readNpz(Bytes bytes, std::vector<Tensor> &tensors,
                        std::string &error) {
  error = "it is no whole .npz file";
  // The end record is last, but for a comment of at most 64 KiB.
  constexpr size_t endBytes = 22;
  if (bytes.size() < endBytes)
    return false;
  size_t lowest = bytes.size() - std::min<size_t>(bytes.size(), 65557);
  size_t at = bytes.size() - endBytes;
  while (Reader(bytes.subspan(at)).number<uint32_t>() != kEnd) {
    if (at == lowest)
      return false;
    --at;
  }
  Reader end(bytes.subspan(at + 10));
  uint16_t count = end.number<uint16_t>();
  end.number<uint32_t>();
  uint32_t offset = end.number<uint32_t>();
  if (offset > bytes.size())
    return false;
  Reader list(bytes.subspan(offset));
  uint64_t claimed = 0;
  for (unsigned index = 0; index < count; ++index) {
    Entry entry;
    if (list.number<uint32_t>() != kCentral)
      return false;
    list.take(6);
    entry.method = list.number<uint16_t>();
    list.take(4);
    entry.crc = list.number<uint32_t>();
    entry.packed = list.number<uint32_t>();
    entry.size = list.number<uint32_t>();
    uint16_t nameLength = list.number<uint16_t>();
    uint16_t extraLength = list.number<uint16_t>();
    uint16_t commentLength = list.number<uint16_t>();
    list.take(8);
    entry.offset = list.number<uint32_t>();
    entry.name = asText(list.take(nameLength));
    readLargeSizes(list.take(extraLength), entry);
    list.take(commentLength);
    // No byte is of two entries, so all together are no more than the file.
    if (list.failed || entry.packed > bytes.size() - claimed)
      return false;
    claimed += entry.packed;
    tensors.emplace_back();
    if (!readEntry(bytes, entry, tensors.back(), error))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

template <typename... Numbers>
static void append(std::vector<uint8_t> &bytes, Numbers... numbers) {
  auto one = [&](auto number) {
    for (size_t i = 0; i < sizeof number; ++i)
      bytes.push_back(uint8_t(uint64_t(number) >> (8 * i)));
  };
  (one(numbers), ...);
}

bool frit::run::makeNpz(const std::vector<Tensor> &tensors,
                        std::vector<uint8_t> &bytes, std::string &error) {
  std::vector<uint8_t> list;
  const uint16_t version = 20, flags = 0, stored = 0, none = 0;
  const uint32_t date = 0x00210000; // the first day that zip knows
  for (const Tensor &tensor : tensors) {
    std::vector<uint8_t> file = makeNpy(tensor);
    std::string name = tensor.name + ".npy";
    uint32_t crc = uint32_t(crc32_z(0, file.data(), file.size()));
    uint32_t offset = uint32_t(bytes.size()), size = uint32_t(file.size());
    append(bytes, kLocal, version, flags, stored, date, crc, size, size,
           uint16_t(name.size()), none);
    bytes.insert(bytes.end(), name.begin(), name.end());
    bytes.insert(bytes.end(), file.begin(), file.end());
    append(list, kCentral, version, version, flags, stored, date, crc, size,
           size, uint16_t(name.size()), none, none, none, none, uint32_t(0),
           offset);
    list.insert(list.end(), name.begin(), name.end());
    if (bytes.size() > 0xffffffff) {
      error =
          "an .npz of more than 4 GiB is not written; ask for fewer outputs";
      return false;
    }
  }
  uint32_t listOffset = uint32_t(bytes.size());
  bytes.insert(bytes.end(), list.begin(), list.end());
  append(bytes, kEnd, none, none, uint16_t(tensors.size()),
         uint16_t(tensors.size()), uint32_t(list.size()), listOffset, none);
  return true;
}
