//===- Npy.cpp - Read and write .npy files --------------------------------===//
//
// Format: magic, version, a Python dictionary as text (type, element order,
// shape), then the elements.
//
//===----------------------------------------------------------------------===//

#include "tools/support/Bytes.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

using namespace frit::tools;

namespace {
struct NumpyType {
  const char *name; ///< without byte order
  frit_dtype dtype;
};
} // namespace

/// Types by NumPy's name. ml_dtypes writes bfloat16 as "V2".
static const NumpyType numpyTypes[] = {
    {"f4", FRIT_F32}, {"f8", FRIT_F64}, {"f2", FRIT_F16}, {"V2", FRIT_BF16},
    {"i1", FRIT_I8},  {"i2", FRIT_I16}, {"i4", FRIT_I32}, {"i8", FRIT_I64},
    {"u1", FRIT_U8},  {"u2", FRIT_U16}, {"u4", FRIT_U32}, {"u8", FRIT_U64},
    {"b1", FRIT_BOOL}};

/// Returns the text after `'key':` in the header, without leading blanks.
static std::string_view valueOf(std::string_view header, std::string_view key) {
  size_t at = header.find("'" + std::string(key) + "':");
  if (at == header.npos)
    return {};
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

static bool parseShape(std::string_view text, std::vector<int64_t> &dims) {
  if (text.empty() || text[0] != '(')
    return false;
  size_t close = text.find(')');
  if (close == text.npos)
    return false;
  std::string inner(text.substr(1, close - 1));
  const char *at = inner.c_str();
  while (true) {
    at += strspn(at, " ,");
    if (!*at)
      return true;
    char *end;
    dims.push_back(strtoll(at, &end, 10));
    if (end == at)
      return false;
    at = end;
  }
}

static Fault incomplete() { return Fault("it is not a complete .npy file"); }

Fault frit::tools::readNpyHeader(Bytes bytes, Tensor &tensor,
                                 NpyLayout &layout) {
  Reader reader(bytes);
  if (asText(reader.take(6)) != "\x93NUMPY")
    return incomplete();
  uint8_t major = reader.number<uint8_t>();
  reader.number<uint8_t>();
  uint64_t length =
      major == 1 ? reader.number<uint16_t>() : reader.number<uint32_t>();
  std::string_view header = asText(reader.take(length));
  if (reader.failed)
    return incomplete();

  std::string_view descr = valueOf(header, "descr");
  if (descr.starts_with('['))
    return Fault("its elements are structures; frit reads plain arrays");
  if (descr.size() < 5 || descr[0] != '\'')
    return Fault("its header is damaged");
  if (descr.starts_with("'|O'"))
    return Fault("its elements are Python objects; of strings, save "
                 "array.astype(str)");
  std::string_view type = descr.substr(2, 2);
  const NumpyType *found = nullptr;
  for (const NumpyType &candidate : numpyTypes)
    if (type == candidate.name && descr[4] == '\'')
      found = &candidate;
  bool isText = descr[2] == 'U' || descr[2] == 'S';
  if (isText) {
    std::string_view digits = descr.substr(3, descr.find('\'', 1) - 3);
    auto [end, fault] = std::from_chars(
        digits.data(), digits.data() + digits.size(), layout.characters);
    isText = fault == std::errc() && end == digits.data() + digits.size() &&
             layout.characters <= UINT32_MAX;
    layout.isUnicode = descr[2] == 'U';
  }
  if (!found && !isText)
    return Fault("frit does not read elements of type " +
                 std::string(descr.substr(0, descr.find('\'', 1) + 1)));
  tensor.dtype = isText ? FRIT_STRING : found->dtype;
  tensor.dims.clear();
  if (!parseShape(valueOf(header, "shape"), tensor.dims))
    return incomplete();
  std::optional<uint64_t> size = byteSize(tensor.dtype, tensor.dims);
  if (!size)
    return incomplete();
  layout.headerBytes = bytes.size() - reader.left();
  layout.dataBytes = *size;
  if (isText) {
    uint64_t width = layout.characters * (layout.isUnicode ? 4 : 1);
    // NumPy gives every string room for a character.
    if ((*size && !width) || __builtin_mul_overflow(*size / sizeof(frit_string),
                                                    width, &layout.dataBytes))
      return incomplete();
  }
  layout.isColumnMajor = valueOf(header, "fortran_order").starts_with("True");
  layout.isBigEndian = descr[1] == '>';
  return {};
}

/// Calls `visit` with the row-major index of each element of a column-major
/// tensor, in column-major order.
template <typename Visit>
static void forEachColumnMajor(std::span<const int64_t> dims, uint64_t count,
                               Visit visit) {
  std::vector<uint64_t> strides(dims.size(), 1), place(dims.size(), 0);
  for (size_t dim = dims.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * uint64_t(dims[dim]);
  uint64_t at = 0;
  for (uint64_t index = 0; index < count; ++index) {
    visit(index, at);
    // The first dimension varies fastest.
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      at += strides[dim];
      if (++place[dim] < uint64_t(dims[dim]))
        break;
      at -= strides[dim] * place[dim];
      place[dim] = 0;
    }
  }
}

void frit::tools::arrange(Tensor &tensor, const NpyLayout &layout) {
  if (tensor.isString())
    decodeTexts(tensor, layout);
  size_t size = frit_dtype_size(tensor.dtype);
  uint64_t count = tensor.count();
  if (!tensor.isString() && layout.isBigEndian && size > 1)
    for (uint64_t i = 0; i < count; ++i)
      std::reverse(tensor.data.begin() + ptrdiff_t(i * size),
                   tensor.data.begin() + ptrdiff_t((i + 1) * size));
  if (!layout.isColumnMajor || tensor.dims.size() < 2)
    return;
  Storage rows(tensor.data.size());
  if (tensor.isString()) {
    std::vector<std::string> texts(count);
    forEachColumnMajor(tensor.dims, count, [&](uint64_t from, uint64_t to) {
      texts[to] = std::move(tensor.texts[from]);
    });
    tensor.texts = std::move(texts);
    return;
  }
  forEachColumnMajor(tensor.dims, count, [&](uint64_t from, uint64_t to) {
    memcpy(rows.data() + to * size, tensor.data.data() + from * size, size);
  });
  tensor.data = std::move(rows);
}

Fault frit::tools::readNpy(Bytes bytes, Tensor &tensor) {
  NpyLayout layout;
  if (Fault fault = readNpyHeader(bytes, tensor, layout))
    return fault;
  Reader reader(bytes.subspan(layout.headerBytes));
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
  for (const NumpyType &candidate : numpyTypes)
    if (candidate.dtype == written->dtype)
      type = candidate.name;
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
