//===- Types.cpp - Element types and shapes: sizes and text ---------------===//

#include "runtime/exec/Types.h"
#include "runtime/exec/Status.h"

#include "frit/dtype.h"

using namespace frit;
using artifact::DType;

static_assert(int(DType::f32) == FRIT_F32 && int(DType::bf16) == FRIT_BF16 &&
                  int(DType::i64) == FRIT_I64 && int(DType::u64) == FRIT_U64 &&
                  int(DType::boolean) == FRIT_BOOL &&
                  int(DType::f8e5m2) == FRIT_F8E5M2 &&
                  int(DType::u2) == FRIT_U2 &&
                  int(DType::string) == FRIT_STRING,
              "the C enumeration numbers types as the artifact does");

uint64_t frit::elementBytes(DType type) {
  const artifact::DTypeRow *row = artifact::findDType(type);
  return row ? row->bytes : 0;
}

const char *frit::typeName(DType type) {
  const artifact::DTypeRow *row = artifact::findDType(type);
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
