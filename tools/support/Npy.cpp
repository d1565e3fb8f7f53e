//===- Npy.cpp - Read and write .npy files --------------------------------===//

#include "tools/support/Bytes.h"

#include <algorithm>
#include <charconv>

using namespace frit::tools;
using frit::artifact::DType;

static Fault incomplete() { return Fault("it is not a complete .npy file"); }

/// Reads the number of characters of "U12" or "S12". Returns whether it is such
/// a type.
static bool readText(std::string_view type, NpyLayout &layout) {
  if (!type.starts_with('U') && !type.starts_with('S'))
    return false;
  layout.isUnicode = type[0] == 'U';
  const char *begin = type.data() + 1, *last = type.data() + type.size();
  auto [end, fault] = std::from_chars(begin, last, layout.characters);
  return fault == std::errc() && end == last && layout.characters <= UINT32_MAX;
}

Fault frit::tools::readNpyHeader(Bytes bytes, Tensor &tensor,
                                 NpyLayout &layout) {
  if (const char *why = parseNpyHeader(asText(bytes), layout.header))
    return Fault(why);
  std::string_view type = layout.header.type();
  DType found = npyType(type);
  bool isText = readText(type, layout);
  if (found == DType(0) && !isText)
    return Fault("frit does not read elements of type '" +
                 std::string(layout.header.descr) + "'");
  tensor.dtype = isText ? FRIT_STRING : frit_dtype(found);
  tensor.dims = layout.header.dims;
  std::optional<uint64_t> size = byteSize(tensor.dtype, tensor.dims);
  if (!size)
    return incomplete();
  layout.dataBytes = *size;
  if (isText) {
    uint64_t width = layout.characters * (layout.isUnicode ? 4 : 1);
    // NumPy gives every string room for a character.
    if ((*size && !width) || __builtin_mul_overflow(*size / sizeof(frit_string),
                                                    width, &layout.dataBytes))
      return incomplete();
  }
  return {};
}

void frit::tools::arrange(Tensor &tensor, const NpyLayout &layout) {
  bool isMoved = layout.header.isColumnMajor && tensor.dims.size() > 1;
  if (tensor.isString()) {
    decodeTexts(tensor, layout);
    if (!isMoved)
      return;
    std::vector<std::string> texts(tensor.count());
    forEachColumnMajor(tensor.dims, tensor.count(),
                       [&](uint64_t from, uint64_t to) {
                         texts[to] = std::move(tensor.texts[from]);
                       });
    tensor.texts = std::move(texts);
    return;
  }
  size_t width = frit_dtype_size(tensor.dtype);
  if (!isMoved && (!layout.header.isBigEndian || width == 1))
    return;
  Storage rows(tensor.data.size());
  arrangeNpy(layout.header, width,
             reinterpret_cast<const char *>(tensor.data.data()),
             reinterpret_cast<char *>(rows.data()), tensor.count());
  tensor.data = std::move(rows);
}

Fault frit::tools::readNpy(Bytes bytes, Tensor &tensor) {
  NpyLayout layout;
  if (Fault fault = readNpyHeader(bytes, tensor, layout))
    return fault;
  Reader reader(bytes.subspan(layout.header.size));
  Bytes data = reader.take(layout.dataBytes);
  if (reader.failed)
    return incomplete();
  tensor.data = Storage(data.size());
  std::ranges::copy(data, tensor.data.begin());
  arrange(tensor, layout);
  return {};
}

std::vector<uint8_t> frit::tools::makeNpy(const Tensor &tensor) {
  const Tensor *written = &tensor;
  Tensor widened;
  if (tensor.dtype == FRIT_BF16 || tensor.dtype == FRIT_F8E4M3 ||
      tensor.dtype == FRIT_F8E5M2) {
    widened.dtype = FRIT_F32;
    widened.dims = tensor.dims;
    widened.data = Storage(tensor.count() * 4);
    for (uint64_t i = 0, count = tensor.count(); i < count; ++i)
      widened.set(i, tensor.at(i));
    written = &widened;
  }
  // Types that NumPy lacks are written as bytes.
  std::string type = frit_dtype_size(written->dtype) == 1 ? "u1" : "f4";
  Storage characters;
  if (tensor.isString()) {
    uint64_t most;
    characters = encodeTexts(tensor, most);
    type = "U" + std::to_string(most);
  }
  if (const char *name = npyName(DType(written->dtype)))
    type = name;
  std::string shape;
  for (int64_t dim : written->dims)
    shape += std::to_string(dim) + ", ";
  if (written->dims.size() > 1)
    shape.resize(shape.size() - 2);
  const char *order = frit_dtype_size(written->dtype) == 1 ? "|" : "<";
  std::string header = std::string("{'descr': '") + order + type +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // Elements start at a multiple of 64 bytes, after a newline.
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  std::vector<uint8_t> bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  bytes.push_back(uint8_t(header.size() & 0xff));
  bytes.push_back(uint8_t(header.size() >> 8));
  bytes.insert(bytes.end(), header.begin(), header.end());
  const Storage &data = tensor.isString() ? characters : written->data;
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}
