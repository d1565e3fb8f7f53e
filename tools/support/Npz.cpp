//===- Npz.cpp - Read and write .npz files --------------------------------===//
//
// A zip file of .npy files, stored or deflated. Reads the central directory
// only: numpy writes the sizes in local headers in several ways.
//
//===----------------------------------------------------------------------===//

#include "tools/support/Bytes.h"

#include <algorithm>
#include <zlib.h>

using namespace frit::tools;

static constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50,
                          kEnd = 0x06054b50;

namespace {
struct Entry {
  std::string name;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0, offset = 0;
};
} // namespace

/// Reads sizes beyond 32 bits from the zip64 field. It contains, in this order,
/// those whose 32-bit field is all ones.
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

namespace {
/// Decompresses an entry in pieces, so that its header can be checked before
/// memory is allocated for the rest.
class Unpacker {
public:
  Unpacker(Bytes packed, bool isDeflated)
      : packed(packed), isDeflated(isDeflated) {
    good = !isDeflated || inflateInit2(&stream, -MAX_WBITS) == Z_OK;
  }
  Unpacker(const Unpacker &) = delete;
  ~Unpacker() {
    if (isDeflated)
      inflateEnd(&stream);
  }

  /// Fills `to`. False if the data end early or are damaged.
  bool read(std::span<uint8_t> to) {
    good = good && (isDeflated ? inflateInto(to) : copyInto(to));
    if (good && !to.empty())
      crc = crc32_z(crc, to.data(), to.size());
    return good;
  }

  /// Returns whether all data were read and match the checksum.
  bool isWhole(uint32_t expected) {
    uint8_t more;
    bool ends = !isDeflated
                    ? packed.empty()
                    : !inflateInto({&more, 1}) && status == Z_STREAM_END;
    return good && ends && crc == expected;
  }

private:
  bool copyInto(std::span<uint8_t> to) {
    if (to.size() > packed.size())
      return false;
    std::ranges::copy(packed.first(to.size()), to.begin());
    packed = packed.subspan(to.size());
    return true;
  }

  bool inflateInto(std::span<uint8_t> to) {
    // zlib's sizes have 32 bits, so large entries are processed in pieces.
    while (!to.empty() && status == Z_OK) {
      uInt in = uInt(std::min<size_t>(packed.size(), 1u << 30));
      uInt out = uInt(std::min<size_t>(to.size(), 1u << 30));
      stream.next_in = const_cast<Bytef *>(packed.data());
      stream.avail_in = in;
      stream.next_out = to.data();
      stream.avail_out = out;
      status = inflate(&stream, Z_NO_FLUSH);
      packed = packed.subspan(in - stream.avail_in);
      to = to.subspan(out - stream.avail_out);
      if (status == Z_OK && in == stream.avail_in && out == stream.avail_out)
        return false;
    }
    return to.empty();
  }

  Bytes packed;
  bool isDeflated, good;
  int status = Z_OK;
  uLong crc = 0;
  z_stream stream = {};
};
} // namespace

/// Maximum length of a header; NumPy's are far shorter.
static constexpr uint64_t kLongestHeader = 1 << 16;

/// Reads an entry. `total` sums the bytes of the archive's tensors so far.
static Fault readEntry(Bytes bytes, const Entry &entry, Tensor &tensor,
                       uint64_t &total) {
  const std::string place = "entry '" + entry.name + "'";
  const Fault damaged(place + " is damaged");
  if (entry.offset > bytes.size())
    return damaged;
  Reader local(bytes.subspan(entry.offset));
  if (local.number<uint32_t>() != kLocal)
    return damaged;
  local.take(22);
  uint16_t nameLength = local.number<uint16_t>();
  uint16_t extraLength = local.number<uint16_t>();
  local.take(nameLength + extraLength);
  Bytes packed = local.take(entry.packed);
  // Deflate compresses at most about 1000:1.
  if (local.failed || entry.size / 1100 > entry.packed + 1)
    return damaged;
  if (entry.method != 0 && entry.method != 8)
    return Fault(place + " is packed in an unknown way");
  Unpacker unpacker(packed, entry.method == 8);
  std::vector<uint8_t> head(std::min(entry.size, kLongestHeader));
  if (!unpacker.read(head))
    return damaged;
  NpyLayout layout;
  if (Fault fault = readNpyHeader(head, tensor, layout))
    return fault.within(place);
  tensor.name = entry.name;
  if (tensor.name.ends_with(".npy"))
    tensor.name.resize(tensor.name.size() - 4);
  // Check before allocating the size that the archive claims.
  if (entry.size - layout.header.size != layout.dataBytes)
    return Fault(place + " does not have the size of its shape, " +
                 tensor.type());
  total += layout.dataBytes;
  expectMemory(total, "the tensors of an archive");
  tensor.data = Storage(layout.dataBytes);
  Bytes begun = Bytes(head).subspan(layout.header.size);
  std::ranges::copy(begun, tensor.data.begin());
  if (!unpacker.read(std::span(tensor.data).subspan(begun.size())) ||
      !unpacker.isWhole(entry.crc))
    return damaged;
  arrange(tensor, layout);
  return {};
}

Fault frit::tools::readNpz(Bytes bytes, std::vector<Tensor> &tensors) {
  const Fault truncated("it is not a complete .npz file");
  // The end record is at the end, before a comment of at most 64 KiB.
  constexpr size_t endBytes = 22;
  if (bytes.size() < endBytes)
    return truncated;
  size_t lowest = bytes.size() - std::min<size_t>(bytes.size(), 65557);
  size_t at = bytes.size() - endBytes;
  while (Reader(bytes.subspan(at)).number<uint32_t>() != kEnd) {
    if (at == lowest)
      return truncated;
    --at;
  }
  Reader end(bytes.subspan(at + 10));
  uint16_t count = end.number<uint16_t>();
  end.number<uint32_t>();
  uint32_t offset = end.number<uint32_t>();
  if (offset > bytes.size())
    return truncated;
  Reader list(bytes.subspan(offset));
  uint64_t claimed = 0, total = 0;
  for (unsigned index = 0; index < count; ++index) {
    Entry entry;
    if (list.number<uint32_t>() != kCentral)
      return truncated;
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
    // Entries do not overlap, so their sum is bounded by the file's size.
    if (list.failed || entry.packed > bytes.size() - claimed)
      return truncated;
    claimed += entry.packed;
    tensors.emplace_back();
    if (Fault fault = readEntry(bytes, entry, tensors.back(), total))
      return fault;
  }
  return {};
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

Fault frit::tools::makeNpz(const std::vector<Tensor> &tensors,
                           std::vector<uint8_t> &bytes) {
  std::vector<uint8_t> list;
  const uint16_t version = 20, flags = 0, stored = 0, none = 0;
  const uint32_t date = 0x00210000; // 1980-01-01, the earliest zip date
  for (const Tensor &tensor : tensors) {
    std::vector<uint8_t> file = makeNpy(tensor);
    std::string name = tensor.name + ".npy";
    if (name.size() > UINT16_MAX)
      return Fault(
          "an .npz holds no name of " + std::to_string(tensor.name.size()) +
          " bytes, as that of output '" + tensor.name.substr(0, 40) + "…'");
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
    if (bytes.size() > 0xffffffff)
      return Fault("an .npz of more than 4 GiB is not written; ask for fewer "
                   "outputs");
  }
  uint32_t listOffset = uint32_t(bytes.size());
  bytes.insert(bytes.end(), list.begin(), list.end());
  append(bytes, kEnd, none, none, uint16_t(tensors.size()),
         uint16_t(tensors.size()), uint32_t(list.size()), listOffset, none);
  return {};
}
