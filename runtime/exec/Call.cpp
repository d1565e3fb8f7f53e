//===- Call.cpp - Match the inputs of a call with a variant ---------------===//

#include "runtime/exec/Call.h"
#include "runtime/exec/Types.h"

#include <algorithm>

using namespace frit;
using artifact::Extent;
using artifact::kNone;
using artifact::Symbol;
using artifact::Tensor;

/// Size of a symbol that no input has determined so far.
static constexpr int64_t kUnknown = -1;

std::string frit::joinNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

Status frit::findTensor(const char *kind, const frit_tensor &tensor,
                        size_t position, const std::vector<std::string> &names,
                        size_t &index) {
  if (!tensor.name) {
    if (position >= names.size())
      return invalidArgument(format("there are too many %ss: the model has %zu",
                                    kind, names.size()));
    index = position;
    return Status();
  }
  index = size_t(std::find(names.begin(), names.end(), tensor.name) -
                 names.begin());
  if (index == names.size())
    return invalidArgument(
        format("there is no %s '%s'; the model's %ss are: %s", kind,
               tensor.name, kind, joinNames(names).c_str()));
  return Status();
}

std::vector<int64_t> frit::variantSizes(const PlanView &plan, size_t symbol) {
  std::vector<int64_t> sizes;
  for (size_t variant = 0; variant < plan.variants().size(); ++variant)
    sizes.push_back(plan.sizes(variant)[symbol]);
  std::ranges::sort(sizes);
  auto same = std::ranges::unique(sizes);
  sizes.erase(same.begin(), same.end());
  return sizes;
}

/// Finds by how much a dimension of input `index` grows with a symbol: of two
/// variants that differ in nothing else.
static int64_t findSlope(const PlanView &plan, size_t index, size_t dim,
                         size_t symbol) {
  const Extent &extent = plan.extents(plan.inputs(0)[index])[dim];
  if (extent.symbol == symbol)
    return extent.factor;
  std::span<const int64_t> first = plan.sizes(0);
  for (size_t variant = 1; variant < plan.variants().size(); ++variant) {
    std::span<const int64_t> sizes = plan.sizes(variant);
    bool isAlone = sizes[symbol] != first[symbol];
    for (size_t i = 0; i < sizes.size(); ++i)
      isAlone &= i == symbol || sizes[i] == first[i];
    if (isAlone)
      return (plan.dims(plan.inputs(variant)[index].dims)[dim] -
              plan.dims(plan.inputs(0)[index].dims)[dim]) /
             (sizes[symbol] - first[symbol]);
  }
  return 0;
}

std::string frit::formatOpenType(const PlanView &plan, size_t index) {
  std::string text;
  const Tensor &tensor = plan.inputs(0)[index];
  std::span<const int64_t> dims = plan.dims(tensor.dims);
  std::span<const Extent> extents = plan.extents(tensor);
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    int64_t rest = dims[dim];
    std::string sum;
    bool isOpen = !extents.empty() && extents[dim].symbol != kNone;
    for (size_t symbol = 0; isOpen && symbol < plan.symbols().size();
         ++symbol) {
      int64_t slope = findSlope(plan, index, dim, symbol);
      if (slope == 0)
        continue;
      rest -= slope * plan.sizes(0)[symbol];
      sum += sum.empty() ? "" : "+";
      sum += slope == 1 ? "" : std::to_string(slope) + "*";
      sum += plan.text(plan.symbols()[symbol].name);
    }
    if (sum.empty() || rest)
      sum += (rest > 0 && !sum.empty() ? "+" : "") + std::to_string(rest);
    text += sum + "x";
  }
  return text + typeName(tensor.type);
}

bool frit::isSymbol(const Extent &extent) {
  return extent.symbol != kNone && extent.factor == 1 && extent.offset == 0;
}

void Call::reserve(const PlanView &plan) {
  given.reserve(plan.inputs(0).size());
  sizes.reserve(plan.symbols().size());
  sources.reserve(plan.symbols().size());
  size_t rank = 0;
  for (const Tensor &tensor : plan.outputs(0))
    rank = std::max(rank, plan.dims(tensor.dims).size());
  shape.reserve(rank);
}

Status Call::open(const PlanView &plan,
                  const std::vector<std::string> &inputNames,
                  std::span<const frit_tensor> inputs) {
  given.assign(inputNames.size(), nullptr);
  for (size_t position = 0; position < inputs.size(); ++position) {
    size_t index = 0;
    FRIT_TRY(
        findTensor("input", inputs[position], position, inputNames, index));
    if (given[index])
      return invalidArgument(
          format("input '%s' is given twice", inputNames[index].c_str()));
    given[index] = &inputs[position];
  }
  for (size_t index = 0; index < given.size(); ++index)
    if (!given[index])
      return invalidArgument(format("input '%s' is missing; it must be %s",
                                    inputNames[index].c_str(),
                                    formatOpenType(plan, index).c_str()));
  FRIT_TRY(readSizes(plan, inputNames));
  FRIT_TRY(pick(plan));
  return checkSums(plan, inputNames);
}

Status Call::readSizes(const PlanView &plan,
                       const std::vector<std::string> &inputNames) {
  sizes.assign(plan.symbols().size(), kUnknown);
  sources.resize(sizes.size());
  for (size_t index = 0; index < given.size(); ++index)
    FRIT_TRY(readInput(plan, inputNames[index], index, *given[index]));
  for (size_t symbol = 0; symbol < sizes.size(); ++symbol)
    FRIT_TRY(checkSize(plan, symbol));
  return Status();
}

/// Checks an input's type and its fixed dimensions, and sets symbol sizes from
/// those that are symbols.
Status Call::readInput(const PlanView &plan, const std::string &name,
                       size_t index, const frit_tensor &tensor) {
  const Tensor &expected = plan.inputs(0)[index];
  if (tensor.rank && !tensor.dims)
    return invalidArgument(format("input '%s' has no dims", name.c_str()));
  std::span<const int64_t> dims(tensor.dims, tensor.rank);
  std::span<const int64_t> wanted = plan.dims(expected.dims);
  std::span<const Extent> extents = plan.extents(expected);
  artifact::DType type = artifact::DType(tensor.dtype);
  auto symbolOf = [&](size_t dim) {
    return extents.empty() ? kNone : extents[dim].symbol;
  };
  bool fits = type == expected.type && dims.size() == wanted.size();
  for (size_t dim = 0; fits && dim < dims.size(); ++dim)
    fits = symbolOf(dim) != kNone || dims[dim] == wanted[dim];
  if (!fits)
    return invalidArgument(format(
        "input '%s' must be %s and is %s", name.c_str(),
        formatOpenType(plan, index).c_str(), formatType(type, dims).c_str()));
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    uint32_t symbol = symbolOf(dim);
    if (symbol == kNone || !isSymbol(extents[dim]) ||
        sizes[symbol] == dims[dim])
      continue;
    if (sizes[symbol] != kUnknown)
      return invalidArgument(format(
          "input '%s' has %s %lld, and input '%s' has %lld", name.c_str(),
          std::string(plan.text(plan.symbols()[symbol].name)).c_str(),
          static_cast<long long>(dims[dim]), sources[symbol]->c_str(),
          static_cast<long long>(sizes[symbol])));
    sizes[symbol] = dims[dim];
    sources[symbol] = &name;
  }
  return Status();
}

Status Call::lengthOf(const PlanView &plan, const char *kind,
                      const Tensor &tensor, size_t dim, int64_t &length) const {
  std::span<const Extent> extents = plan.extents(tensor);
  int64_t most = length = plan.dims(tensor.dims)[dim];
  if (extents.empty() || extents[dim].symbol == kNone)
    return Status();
  const Extent &extent = extents[dim];
  if (computeLength(extent, sizes[extent.symbol], length) && length >= 0 &&
      length <= most)
    return Status();
  return Status(FRIT_BAD_MODEL,
                format("the model's plan is damaged: dimension %zu of %s '%s' "
                       "has an impossible length",
                       dim, kind, std::string(plan.text(tensor.name)).c_str()));
}

/// Checks the dimensions that are sums with a symbol.
Status Call::checkSums(const PlanView &plan,
                       const std::vector<std::string> &inputNames) const {
  for (size_t index = 0; index < given.size(); ++index) {
    const Tensor &expected = plan.inputs(chosen)[index];
    std::span<const Extent> extents = plan.extents(expected);
    for (size_t dim = 0; dim < extents.size(); ++dim) {
      int64_t length;
      if (extents[dim].symbol == kNone || isSymbol(extents[dim]))
        continue;
      FRIT_TRY(lengthOf(plan, "input", expected, dim, length));
      if (given[index]->dims[dim] != length)
        return invalidArgument(
            format("dimension %zu of input '%s' is %lld, and must be %lld: %s",
                   dim, inputNames[index].c_str(),
                   static_cast<long long>(given[index]->dims[dim]),
                   static_cast<long long>(length),
                   formatOpenType(plan, index).c_str()));
    }
  }
  return Status();
}

Status Call::checkSize(const PlanView &plan, size_t index) const {
  const Symbol &symbol = plan.symbols()[index];
  int64_t size = sizes[index];
  if (size == kUnknown)
    return Status();
  std::string held;
  bool holds = size >= symbol.least && size <= symbol.most;
  if (symbol.padded) {
    held = format("%lld..%lld", static_cast<long long>(symbol.least),
                  static_cast<long long>(symbol.most));
    if (symbol.multiple != 1) {
      holds &= size % symbol.multiple == 0;
      held = format("multiples of %u in ", symbol.multiple) + held;
    }
  } else {
    std::vector<int64_t> all = variantSizes(plan, index);
    holds &= std::ranges::find(all, size) != all.end();
    for (int64_t other : all)
      held += (held.empty() ? "" : ", ") + std::to_string(other);
  }
  if (holds)
    return Status();
  std::string source =
      sources[index] ? format("input '%s' has ", sources[index]->c_str()) : "";
  return invalidArgument(format("%s%s %lld, and the model holds %s",
                                source.c_str(),
                                std::string(plan.text(symbol.name)).c_str(),
                                static_cast<long long>(size), held.c_str()));
}

/// Chooses the smallest variant that fits. Variants are sorted by size, so it
/// is the first that fits.
Status Call::pick(const PlanView &plan) {
  std::span<const Symbol> symbols = plan.symbols();
  for (chosen = 0; chosen < plan.variants().size(); ++chosen) {
    std::span<const int64_t> held = plan.sizes(chosen);
    bool fits = true;
    isPadded = false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == kUnknown || sizes[i] == held[i])
        continue;
      fits &= symbols[i].padded && sizes[i] < held[i];
      isPadded = true;
    }
    if (!fits)
      continue;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] == kUnknown)
        sizes[i] = held[i];
    return Status();
  }
  std::string asked;
  for (size_t i = 0; i < sizes.size(); ++i)
    asked += format("%s%s %lld", i ? ", " : "",
                    std::string(plan.text(symbols[i].name)).c_str(),
                    static_cast<long long>(sizes[i]));
  chosen = 0;
  return invalidArgument("the model has no variant for " + asked);
}

Status Call::inputDims(const PlanView &plan,
                       std::span<const int64_t> symbolSizes, size_t index,
                       std::span<int64_t> dims) {
  sizes.assign(symbolSizes.begin(), symbolSizes.end());
  sources.assign(sizes.size(), nullptr);
  for (size_t symbol = 0; symbol < sizes.size(); ++symbol)
    FRIT_TRY(checkSize(plan, symbol));
  FRIT_TRY(pick(plan));
  const Tensor &tensor = plan.inputs(chosen)[index];
  for (size_t dim = 0; dim < dims.size(); ++dim)
    FRIT_TRY(lengthOf(plan, "input", tensor, dim, dims[dim]));
  return Status();
}

Status Call::outputDims(const PlanView &plan, size_t index,
                        std::span<const int64_t> &dims) {
  const Tensor &tensor = plan.outputs(chosen)[index];
  dims = plan.dims(tensor.dims);
  if (!isPadded || plan.extents(tensor).empty())
    return Status();
  shape.assign(dims.begin(), dims.end());
  for (size_t dim = 0; dim < shape.size(); ++dim)
    FRIT_TRY(lengthOf(plan, "output", tensor, dim, shape[dim]));
  dims = shape;
  return Status();
}
