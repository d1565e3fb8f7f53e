//===- Types.cpp - Element types and shapes -------------------------------===//

#include "runtime/exec/Types.h"
#include "runtime/exec/Status.h"

using namespace frit;
using artifact::DType;

static_assert(int(DType::f32) == FRIT_F32 && int(DType::bf16) == FRIT_BF16 &&
                  int(DType::i64) == FRIT_I64 && int(DType::u64) == FRIT_U64 &&
                  int(DType::boolean) == FRIT_BOOL &&
                  int(DType::f8e5m2) == FRIT_F8E5M2 &&
                  int(DType::u2) == FRIT_U2,
              "the C enumeration numbers types as the artifact does");

namespace {
struct TypeRow {
  const char *name;
  uint8_t bytes;
};
} // namespace

/// In the order of DType, which starts at 1.
static constexpr TypeRow rows[] = {
    {"f32", 4},        {"f64", 8},    {"f16", 2},    {"bf16", 2},
    {"i8", 1},         {"i16", 2},    {"i32", 4},    {"i64", 8},
    {"u8", 1},         {"u16", 2},    {"u32", 4},    {"u64", 8},
    {"bool", 1},       {"f8e4m3", 1}, {"f8e5m2", 1}, {"f8e4m3fnuz", 1},
    {"f8e5m2fnuz", 1}, {"f8e8m0", 1}, {"f4e2m1", 1}, {"i4", 1},
    {"u4", 1},         {"i2", 1},     {"u2", 1}};

static const TypeRow *find(DType type) {
  uint32_t index = uint32_t(type) - 1;
  return index < std::size(rows) ? &rows[index] : nullptr;
}

uint64_t frit::elementBytes(DType type) {
  const TypeRow *row = find(type);
  return row ? row->bytes : 0;
}

const char *frit::typeName(DType type) {
  const TypeRow *row = find(type);
  return row ? row->name : "?";
}

std::string frit::formatType(DType type, std::span<const int64_t> dims) {
  std::string text;
  for (int64_t dim : dims)
    text += format("%lldx", static_cast<long long>(dim));
  return text + typeName(type);
}

bool frit::countElements(std::span<const int64_t> dims, uint64_t &count) {
  int64_t product = 1;
  bool empty = false, overflow = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return false;
    if (dim == 0)
      empty = true;
    else
      overflow |= __builtin_mul_overflow(product, dim, &product);
  }
  if (overflow && !empty)
    return false;
  count = empty ? 0 : uint64_t(product);
  return true;
}
