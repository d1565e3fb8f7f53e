//===- ShapeCheck.cpp - Check the shapes in an artifact's plan ------------===//

#include "runtime/plan/ShapeCheck.h"
#include "runtime/exec/Types.h"

#include <cstring>

using namespace frit;
using namespace frit::artifact;

Status frit::damagedPlan(std::string what) {
  return Status(FRIT_BAD_MODEL, "the model's plan is damaged: " + what);
}

static bool isIn(Text text, uint64_t bytes) {
  return text.offset <= bytes && text.size <= bytes - text.offset;
}

static bool isIn(Range range, const Table &table) {
  return range.first <= table.count && range.count <= table.count - range.first;
}

Status frit::checkTensor(const PlanView &plan, const char *what, Text name,
                         DType type, Range dims, uint64_t bytes) {
  if (!isIn(name, plan.header().strings.size))
    return damagedPlan(format("the name of %s is out of range", what));
  std::string label(plan.text(name));
  if (!isIn(dims, plan.header().dims))
    return damagedPlan(
        format("the shape of %s '%s' is out of range", what, label.c_str()));
  uint64_t size = elementBytes(type), count, total;
  if (!size)
    return damagedPlan(
        format("the type of %s '%s' is unknown", what, label.c_str()));
  if (!countElements(plan.dims(dims), count) ||
      __builtin_mul_overflow(count, size, &total) || total != bytes)
    return damagedPlan(format("the size of %s '%s' does not match its shape",
                              what, label.c_str()));
  return Status();
}

namespace {
class ShapeCheck {
public:
  explicit ShapeCheck(const PlanView &plan) : plan(plan) {}

  Status checkSymbols();
  Status checkVariants();

private:
  Status checkTensors(const char *kind, std::span<const Tensor> tensors,
                      std::span<const Tensor> first);
  Status checkInputs(size_t variant);
  Status checkSizes(size_t variant);
  Status checkCounts(size_t variant);
  Status checkExtents(const char *kind, const Tensor &tensor);
  Status checkIndices(const char *kind, const Tensor &tensor);

  const PlanView &plan;
};
} // namespace

Status ShapeCheck::checkSymbols() {
  for (const Symbol &symbol : plan.symbols()) {
    if (!isIn(symbol.name, plan.header().strings.size))
      return damagedPlan("the name of a symbol is out of range");
    if (symbol.least < 1 || symbol.least > symbol.most || !symbol.multiple)
      return damagedPlan(format("symbol '%s' has no sizes",
                                std::string(plan.text(symbol.name)).c_str()));
  }
  return Status();
}

Status ShapeCheck::checkVariants() {
  const Header &head = plan.header();
  if (plan.variants().empty())
    return damagedPlan("it has no variant");
  for (size_t index = 0; index < plan.variants().size(); ++index) {
    const Variant &variant = plan.variants()[index];
    if (!isIn(variant.sizes, head.dims) || !isIn(variant.inputs, head.inputs) ||
        !isIn(variant.outputs, head.outputs))
      return damagedPlan("a variant is out of range");
    if (variant.sizes.count != plan.symbols().size())
      return damagedPlan(
          "a variant's number of sizes is not the number of symbols");
    FRIT_TRY(checkTensors("input", plan.inputs(index), plan.inputs(0)));
    FRIT_TRY(checkTensors("output", plan.outputs(index), plan.outputs(0)));
    FRIT_TRY(checkInputs(index));
    FRIT_TRY(checkSizes(index));
    FRIT_TRY(checkCounts(index));
  }
  return Status();
}

Status ShapeCheck::checkTensors(const char *kind,
                                std::span<const Tensor> tensors,
                                std::span<const Tensor> first) {
  if (tensors.size() != first.size())
    return damagedPlan(format("a variant has another number of %ss", kind));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor &tensor = tensors[i];
    FRIT_TRY(checkTensor(plan, kind, tensor.name, tensor.type, tensor.dims,
                         tensor.bytes));
    FRIT_TRY(checkExtents(kind, tensor));
    FRIT_TRY(checkIndices(kind, tensor));
    if (tensor.type != first[i].type ||
        tensor.dims.count != first[i].dims.count ||
        plan.text(tensor.name) != plan.text(first[i].name))
      return damagedPlan(format("%s '%s' is another one in another variant",
                                kind,
                                std::string(plan.text(tensor.name)).c_str()));
  }
  return Status();
}

/// Checks that a variant's inputs differ from the first's only in symbol sizes.
Status ShapeCheck::checkInputs(size_t variant) {
  for (size_t i = 0; i < plan.inputs(0).size(); ++i) {
    const Tensor &tensor = plan.inputs(variant)[i], &first = plan.inputs(0)[i];
    std::span<const int64_t> dims = plan.dims(tensor.dims);
    if (tensor.extents.count != first.extents.count)
      return damagedPlan("an input has other symbols in another variant");
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      Extent extent = {.symbol = kNone};
      if (tensor.extents.count) {
        extent = plan.extents(tensor)[dim];
        if (extent.symbol != plan.extents(first)[dim].symbol)
          return damagedPlan("an input has other symbols in another variant");
      }
      int64_t size = extent.symbol == kNone
                         ? plan.dims(first.dims)[dim]
                         : plan.sizes(variant)[extent.symbol];
      if (extent.symbol != kNone && !computeLength(extent, size, size))
        size = -1;
      if (dims[dim] != size)
        return damagedPlan(
            "an input's shape does not match its variant's symbol sizes");
    }
  }
  return Status();
}

/// Checks the last inputs: scalars for which the runtime passes the true symbol
/// sizes.
Status ShapeCheck::checkSizes(size_t variant) {
  std::span<const Tensor> inputs = plan.inputs(variant);
  uint32_t sizes = plan.function().sizes;
  if (sizes > inputs.size())
    return damagedPlan("it has more sizes than inputs");
  for (const Tensor &size : inputs.last(sizes))
    if (size.type != DType::i64 || size.dims.count || size.extents.count ||
        size.symbol >= plan.symbols().size())
      return damagedPlan("a size input is not an i64 scalar of a known symbol");
  return Status();
}

/// Checks the last outputs: the counts that the runtime reads back to learn
/// data-dependent output lengths.
Status ShapeCheck::checkCounts(size_t variant) {
  std::span<const Tensor> outputs = plan.outputs(variant);
  uint32_t counts = plan.function().counts;
  if (counts > outputs.size())
    return damagedPlan("it has more counts than outputs");
  for (const Tensor &count : outputs.last(counts))
    if (count.type != DType::i64 || count.dims.count || count.extents.count)
      return damagedPlan("a count output is not an i64 scalar");
  return Status();
}

Status ShapeCheck::checkExtents(const char *kind, const Tensor &tensor) {
  std::string name(plan.text(tensor.name));
  if (!isIn(tensor.extents, plan.header().extents) ||
      (tensor.extents.count && tensor.extents.count != tensor.dims.count))
    return damagedPlan(
        format("the extents of %s '%s' are out of range", kind, name.c_str()));
  for (const Extent &extent : plan.extents(tensor)) {
    if (extent.symbol != kNone && extent.symbol >= plan.symbols().size())
      return damagedPlan(
          format("%s '%s' has a symbol that is not there", kind, name.c_str()));
    bool divides = extent.divisor != 1 || extent.shift != 0;
    if (extent.divisor < 1 || extent.shift < 0 ||
        extent.shift >= extent.divisor ||
        (divides && (extent.symbol == kNone || !strcmp(kind, "input"))))
      return damagedPlan(format("%s '%s' has a length that is divided wrongly",
                                kind, name.c_str()));
    if (extent.count == kNone)
      continue;
    if (extent.count >= plan.function().counts || extent.symbol != kNone ||
        !strcmp(kind, "input"))
      return damagedPlan(
          format("%s '%s' has a count that cannot be its", kind, name.c_str()));
  }
  return Status();
}

/// Checks that boxes of indices lie inside an input. That of a check tells a
/// shape, of any rank.
Status ShapeCheck::checkIndices(const char *kind, const Tensor &tensor) {
  const Header &head = plan.header();
  std::string name(plan.text(tensor.name));
  if (!isIn(tensor.indices, head.indices))
    return damagedPlan(
        format("the indices of %s '%s' are out of range", kind, name.c_str()));
  bool isInput = !strcmp(kind, "input");
  std::span<const int64_t> dims = plan.dims(tensor.dims);
  for (const IndexRange &range : plan.indices(tensor)) {
    bool good = isIn(range.use, head.strings.size) &&
                isIn(range.first, head.dims) && isIn(range.sizes, head.dims) &&
                range.first.count == range.sizes.count &&
                (!isInput || range.sizes.count == dims.size());
    for (uint32_t dim = 0; good && dim < range.sizes.count; ++dim) {
      int64_t first = plan.dims(range.first)[dim];
      int64_t size = plan.dims(range.sizes)[dim];
      good = first >= 0 && size >= 0 &&
             (!isInput || (first <= dims[dim] && size <= dims[dim] - first));
    }
    for (const Extent &bound : {range.leastOf, range.mostOf})
      good = good && bound.count == kNone && bound.divisor >= 1 &&
             bound.shift >= 0 && bound.shift < bound.divisor &&
             (bound.symbol == kNone || bound.symbol < plan.symbols().size());
    if (!good)
      return damagedPlan(
          format("indices of %s '%s' are not in it", kind, name.c_str()));
  }
  if (!isInput && tensor.indices.count > 1)
    return damagedPlan(format("output '%s' checks twice", name.c_str()));
  return Status();
}

Status frit::checkVariants(const PlanView &plan) {
  ShapeCheck check(plan);
  FRIT_TRY(check.checkSymbols());
  return check.checkVariants();
}
