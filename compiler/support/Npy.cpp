//===- Npy.cpp - The header of .npy files ---------------------------------===//

#include "compiler/support/Npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

using namespace frit;
using artifact::DType;

namespace {
struct NumpyType {
  const char *name;
  DType type;
};
} // namespace

static constexpr NumpyType types[] = {
    {"f4", DType::f32},    {"f8", DType::f64}, {"f2", DType::f16},
    {"V2", DType::bf16},   {"i1", DType::i8},  {"i2", DType::i16},
    {"i4", DType::i32},    {"i8", DType::i64}, {"u1", DType::u8},
    {"u2", DType::u16},    {"u4", DType::u32}, {"u8", DType::u64},
    {"b1", DType::boolean}};

DType frit::npyType(std::string_view name) {
  for (const NumpyType &row : types)
    if (name == row.name)
      return row.type;
  return DType(0);
}

const char *frit::npyName(DType type) {
  for (const NumpyType &row : types)
    if (type == row.type)
      return row.name;
  return nullptr;
}

/// Returns the text after `'key':` in the header, without leading blanks.
static std::string_view valueOf(std::string_view header, std::string_view key) {
  size_t at = header.find("'" + std::string(key) + "':");
  if (at == header.npos)
    return {};
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

/// Parses "(2, 3)", "(2,)" or "()".
static bool parseShape(std::string_view text, std::vector<int64_t> &dims) {
  size_t close = text.find(')');
  if (text.empty() || text[0] != '(' || close == text.npos)
    return false;
  const char *at = text.data() + 1, *end = text.data() + close;
  while (true) {
    at = std::find_if(at, end, [](char c) { return c != ' ' && c != ','; });
    if (at == end)
      return true;
    auto [next, fault] = std::from_chars(at, end, dims.emplace_back());
    if (fault != std::errc() ||
        (next != end && *next != ',' && *next != ' ' && *next != 'L'))
      return false;
    // Python 2 wrote 3L.
    at = next != end && *next == 'L' ? next + 1 : next;
  }
}

const char *frit::parseNpyHeader(std::string_view file, NpyHeader &header) {
  static const char *const cutOff = "it is not a complete .npy file";
  static const char *const damaged = "its header is damaged";
  if (!file.starts_with(kNpyMagic) || file.size() < 10)
    return cutOff;
  // Lengths are little endian, as the machines that frit runs on.
  uint64_t length = 0, width = file[6] == 1 ? 2 : 4;
  if (file.size() < 8 + width)
    return cutOff;
  memcpy(&length, file.data() + 8, width);
  header.size = 8 + width + length;
  if (header.size > file.size())
    return cutOff;
  std::string_view text = file.substr(8 + width, length);

  std::string_view descr = valueOf(text, "descr");
  if (descr.starts_with('['))
    return "its elements are structures; frit reads plain arrays";
  if (descr.size() < 5 || descr[0] != '\'')
    return damaged;
  if (descr.starts_with("'|O'"))
    return "its elements are Python objects; of strings, save "
           "array.astype(str)";
  size_t end = descr.find('\'', 1);
  if (end == descr.npos || end < 3)
    return damaged;
  header.descr = descr.substr(1, end - 1);
  header.isBigEndian = header.descr[0] == '>';
  header.isColumnMajor = valueOf(text, "fortran_order").starts_with("True");
  header.dims.clear();
  return parseShape(valueOf(text, "shape"), header.dims) ? nullptr : damaged;
}

void frit::arrangeNpy(const NpyHeader &header, uint64_t width, const char *from,
                      char *to, uint64_t count) {
  auto move = [&](uint64_t source, uint64_t target) {
    char *begin = to + target * width;
    memcpy(begin, from + source * width, width);
    if (header.isBigEndian)
      std::reverse(begin, begin + width);
  };
  if (header.isColumnMajor && header.dims.size() > 1)
    return forEachColumnMajor(header.dims, count, move);
  for (uint64_t i = 0; i < count; ++i)
    move(i, i);
}
