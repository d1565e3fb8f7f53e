//===- Overflow.cpp - Find what overflowed in a step ----------------------===//

#include "tools/frit-train/Overflow.h"

#include "frit/dtype.h"

#include <cstring>

using namespace frit::train;

namespace {
/// The bits of a floating-point type.
struct FloatBits {
  uint64_t exponent, sign;
};

struct Counts {
  uint64_t bad = 0;       ///< not finite
  bool isNegative = true; ///< whether all of these are -infinity
};

/// State of a search by findOverflow.
struct OverflowSearch {
  Overflow first, negative;
};
} // namespace

template <typename Word>
static Counts count(const frit_step_tensor &result, FloatBits bits) {
  Counts counts;
  auto *bytes = static_cast<const uint8_t *>(result.data);
  for (uint64_t i = 0; i < result.count; ++i) {
    Word word;
    memcpy(&word, bytes + i * sizeof word, sizeof word);
    if ((word & bits.exponent) != bits.exponent)
      continue;
    ++counts.bad;
    counts.isNegative &= word == (bits.exponent | bits.sign);
  }
  return counts;
}

static Counts count(const frit_step_tensor &result) {
  switch (result.dtype) {
  case FRIT_F16:
    return count<uint16_t>(result, {0x7c00, 0x8000});
  case FRIT_BF16:
    return count<uint16_t>(result, {0x7f80, 0x8000});
  case FRIT_F32:
    return count<uint32_t>(result, {0x7f800000, 0x80000000});
  case FRIT_F64:
    return count<uint64_t>(result, {0x7ff0000000000000, uint64_t(1) << 63});
  default:
    return {};
  }
}

static Overflow describe(std::string name, const frit_step_tensor &tensor,
                         const Counts &counts) {
  return {std::move(name),
          frit::artifact::findDType(frit::artifact::DType(tensor.dtype))->name,
          counts.bad, tensor.count};
}

/// Names what a step computes. Nodes of the model do not compute the loss and
/// the update of the weights.
static std::string nameOf(const frit_step_info &step) {
  return *step.node ? step.node
                    : "the loss or the optimizer, kernel '" +
                          std::string(step.kernel) + "'";
}

static void visit(void *user, const frit_step_info *step,
                  const frit_step_tensor *results, uint32_t number) {
  auto &search = *static_cast<OverflowSearch *>(user);
  if (search.first.bad)
    return;
  for (const frit_step_tensor &result : std::span(results, number)) {
    Counts counts = count(result);
    if (!counts.bad)
      continue;
    Overflow &to = counts.isNegative ? search.negative : search.first;
    if (!to.bad)
      to = describe(nameOf(*step), result, counts);
  }
}

frit_status frit::train::findOverflow(frit_context *context,
                                      std::span<const frit_tensor> inputs,
                                      Overflow &found) {
  OverflowSearch search;
  frit_status status =
      frit_trace(context, inputs.data(), uint32_t(inputs.size()), nullptr, 0,
                 /*operands=*/0, visit, &search);
  found = search.first.bad ? search.first : search.negative;
  return status;
}

Overflow frit::train::findOverflow(const std::vector<TensorView> &tensors) {
  for (const TensorView &view : tensors) {
    frit_step_tensor tensor = {};
    tensor.dtype = view.dtype;
    tensor.data = view.data.data();
    tensor.count = view.data.size() / frit_dtype_size(view.dtype);
    if (Counts counts = count(tensor); counts.bad)
      return describe(view.name, tensor, counts);
  }
  return {};
}
