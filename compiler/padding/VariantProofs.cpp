//===- VariantProofs.cpp - Prove which sizes a variant serves -------------===//
//
// Compares every variant with the model for the smaller sizes that it serves,
// which also finds the masks and actual sizes that it needs. The smallest size
// comes first, since there every padded dimension differs from the variant's.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/Variants.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace frit;

/// Maximum number of sizes that are proved. If there are more, this many are
/// picked, evenly spread, but with every remainder of their distance.
static constexpr int64_t kMostProofs = 256;
/// Most sizes that are compared after these, for each variant, to tell long
/// strides apart.
static constexpr int64_t kMostProbes = 256;

int64_t Variants::servedCount(size_t index) const {
  const SymbolSizes &symbol = symbols[index];
  return padded[index] ? (symbol.most - symbol.least) / symbol.multiple + 1
                       : int64_t(symbol.sizes.size());
}

int64_t Variants::servedSize(size_t index, int64_t number) const {
  const SymbolSizes &symbol = symbols[index];
  return padded[index] ? symbol.least + number * symbol.multiple
                       : symbol.sizes[number];
}

/// Returns the smallest size of a symbol that its variant for `size` serves.
int64_t Variants::leastServed(size_t index, int64_t size) const {
  const SymbolSizes &symbol = symbols[index];
  auto variant = llvm::lower_bound(symbol.sizes, size);
  if (!padded[index])
    return size;
  return variant == symbol.sizes.begin() ? symbol.least
                                         : variant[-1] + symbol.multiple;
}

/// Chooses the sizes to prove if some symbols vary and the others are at their
/// largest, by the variant that serves them.
std::map<Variants::Sizes, std::vector<Variants::Sizes>>
Variants::chooseProofs(const std::vector<bool> &varies) const {
  constexpr int64_t most = int64_t(1) << 50;
  int64_t total = 1;
  std::vector<Sizes> lists;
  for (size_t index = 0; index < symbols.size(); ++index) {
    lists.push_back({symbols[index].sizes.back()});
    if (!varies[index])
      continue;
    lists.back().assign(symbols[index].sizes.begin(),
                        symbols[index].sizes.end());
    total =
        servedCount(index) > most / total ? most : total * servedCount(index);
  }
  std::map<Sizes, std::vector<Sizes>> chosen;
  auto choose = [&](const Sizes &sizes) {
    Sizes large = variantFor(sizes);
    std::vector<Sizes> &list = chosen[large];
    if (sizes != large && !llvm::is_contained(list, sizes))
      list.push_back(sizes);
  };
  for (Sizes sizes : combine(lists)) {
    for (size_t index = 0; index < symbols.size(); ++index)
      if (varies[index])
        sizes[index] = leastServed(index, sizes[index]);
    choose(sizes);
  }
  int64_t count = std::min(total, kMostProofs);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = total - 1 - (count - 1 - i) * total / count;
    rest -= i == count - 1 ? 0 : i % (total / count);
    Sizes sizes = largest();
    for (size_t index = symbols.size(); index-- > 0;)
      if (varies[index]) {
        sizes[index] = servedSize(index, rest % servedCount(index));
        rest /= servedCount(index);
      }
    choose(sizes);
  }
  return chosen;
}

/// Proves all sizes that a variant serves. On failure, sets `failed` to the
/// sizes and returns why.
std::optional<Mixing> Variants::proveVariant(const Sizes &large,
                                             ArrayRef<Sizes> served,
                                             Sizes &failed) {
  Proof &proof = proofs[large];
  proof.large = importQuietly(large, nullptr, &proof.choices);
  // The error is reported when the variant is imported.
  if (!proof.large)
    return std::nullopt;
  Sizes multiples;
  for (const SymbolSizes &symbol : symbols)
    multiples.push_back(symbol.multiple);
  proof.proof = std::make_unique<PaddingProof>(*proof.large, large, multiples);
  PaddingMasks &masks = proof.proof->masks;
  masks.joinsFixed = joinsFixed;
  auto compare = [&](const Sizes &small) -> std::optional<Mixing> {
    failed = small;
    Mixing failure{UnknownLoc::get(&context), "", true};
    OwningOpRef<ModuleOp> module =
        importQuietly(small, &failure, &proof.choices, /*followsChoices=*/true);
    if (!module)
      return failure;
    return proof.proof->findMixing(*module, small);
  };
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (const Sizes &small : served) {
      size_t count = masks.size();
      if (auto mixing = compare(small))
        return mixing;
      // The first proof's masks are already used by the others.
      isNew |= masks.size() != count && small != served.front();
    }
  }
  // Rows that windows with a stride leave need neighboring sizes.
  for (Sizes small = served.front();
       masks.areAmbiguous() || areLengthsAmbiguous(large);) {
    bool isLarger = false;
    for (size_t index = 0; index < small.size(); ++index)
      if (small[index] < large[index]) {
        small[index] += symbols[index].multiple;
        isLarger = true;
      }
    if (!isLarger)
      break;
    if (small == large || llvm::is_contained(served, small))
      continue;
    if (auto mixing = compare(small))
      return mixing;
  }
  for (int64_t i = 0; i < kMostProbes; ++i) {
    std::optional<Sizes> small = findProbe(large, masks);
    if (!small)
      break;
    if (auto mixing = compare(*small))
      return mixing;
  }
  if (auto mixing = proof.proof->findMisfit())
    return mixing;
  return std::nullopt;
}

/// Proves the sizes of the symbols that vary, with the others at their largest.
std::optional<Mixing> Variants::prove(const std::vector<bool> &varies,
                                      Sizes &failed) {
  proofs.clear();
  for (const auto &[large, served] : chooseProofs(varies))
    if (!served.empty())
      if (auto mixing = proveVariant(large, served, failed))
        return mixing;
  return std::nullopt;
}

/// Determines which symbols may be padded, each with the others at their
/// largest.
bool Variants::proveEach() {
  for (size_t index = 0; index < symbols.size(); ++index) {
    std::vector<bool> varies(symbols.size());
    varies[index] = true;
    Sizes failed;
    if (std::optional<Mixing> mixing = prove(varies, failed)) {
      if (!mixing->isInvalid && proveJoins())
        return true;
      if (!mixing->isInvalid && provePlaces(varies, *mixing, failed))
        return proveEach();
      if (mixing->isInvalid && symbols[index].isList() &&
          raiseLeast(index, failed[index]))
        return proveEach();
      if (!makeExact(index, *mixing, failed))
        return false;
    }
  }
  return true;
}

/// Proves the symbols that vary in imports that compute places. Where that
/// fails for a reason that tables do not have, it becomes the reason.
bool Variants::provePlaces(const std::vector<bool> &varies, Mixing &mixing,
                           Sizes &failed) {
  if (computesPlaces)
    return false;
  computesPlaces = true;
  Sizes failedNow;
  std::optional<Mixing> left = prove(varies, failedNow);
  if (!left || (!left->isInvalid && proveJoins()))
    return true;
  computesPlaces = false;
  proofs.clear();
  if (!left->isInvalid) {
    mixing = *left;
    failed = failedNow;
  }
  return false;
}

/// Returns the number of sizes of a symbol's ranges.
static int64_t countSizes(const SymbolSizes &symbol) {
  int64_t count = 0;
  for (auto [first, last] : symbol.ranges)
    count += (last - first) / symbol.multiple + 1;
  return count;
}

/// Proves all symbols together if one alone may not be padded: where lists of
/// two open sizes are joined, neither is the part that stays. A list of one
/// open size may be a cache, which gets a variant for each size if it can.
bool Variants::proveJoins() {
  if (llvm::is_contained(padded, false) ||
      (symbols.size() == 1 &&
       (symbols[0].isList() || countSizes(symbols[0]) <= kMostVariants)))
    return false;
  joinsFixed = true;
  Sizes failed;
  if (!prove(std::vector<bool>(symbols.size(), true), failed) && tellsInputs())
    return true;
  joinsFixed = false;
  proofs.clear();
  return false;
}

/// Returns whether each dimension of an input tells one size.
bool Variants::tellsInputs() const {
  const ShapeList &inputs = known.begin()->second.inputs;
  for (size_t tensor = 0; tensor < inputs.size(); ++tensor)
    for (size_t dim = 0; dim < inputs[tensor].size(); ++dim) {
      SizeSamples samples;
      for (const auto &[sizes, shapes] : known)
        samples.add(sizes, shapes.inputs[tensor][dim]);
      auto expr = samples.fit();
      if (!samples.isFixed() && !(expr && expr->isExtent()))
        return false;
    }
  return true;
}

/// Returns the number of variants for a symbol's size.
int64_t Variants::otherVariants(size_t index) const {
  int64_t count = 1;
  for (auto [other, symbol] : llvm::enumerate(symbols))
    count *= other == index ? 1 : int64_t(symbol.sizes.size());
  return count;
}

/// Handles a symbol that cannot be padded: every size needs a variant. Listed
/// sizes are taken as complete; a small range is compiled in full.
bool Variants::makeExact(size_t index, const Mixing &mixing,
                         const Sizes &small) {
  SymbolSizes &symbol = symbols[index];
  if (mixing.isInvalid && !symbol.isList()) {
    reportInvalid(index, mixing, small);
    return false;
  }
  padded[index] = false;
  proofs.clear();
  std::string why =
      mixing.isInvalid
          ? llvm::formatv("'{0}' cannot be {1}: {2}", symbol.name, small[index],
                          mixing.reason)
                .str()
          : llvm::formatv("'{0}' {1} cannot be padded to {2}, as this {3}",
                          symbol.name, small[index], variantFor(small)[index],
                          mixing.reason)
                .str();
  int64_t others = otherVariants(index);
  int64_t count = countSizes(symbol);
  if (!symbol.isList() && count > kMostVariants / others) {
    // Some sizes of the range, as an example.
    auto [least, most] = symbol.ranges.front();
    std::string sizes = std::to_string(least);
    for (int64_t size = 2 * least; size <= std::min(most, 4 * least); size *= 2)
      sizes += "," + std::to_string(size);
    emitError(mixing.loc) << why << "; list the sizes that are needed, as "
                          << "-fshape=" << symbol.name << "=" << sizes
                          << " (up to " << kMostVariants / others << ")";
    return false;
  }
  symbol.sizes.clear();
  for (auto [first, last] : symbol.ranges)
    for (int64_t size = first; size <= last; size += symbol.multiple)
      symbol.sizes.push_back(size);
  remark::missed(mixing.loc,
                 remark::RemarkOpts::name("Exact").category("shape"))
      << remark::add("{0}; only the sizes that are compiled will be taken",
                     why);
  return true;
}

/// Proves that symbols that may be padded alone may be padded together, for all
/// combinations.
bool Variants::proveTogether() {
  if (symbols.size() < 2 || joinsFixed)
    return true;
  Sizes failed;
  std::optional<Mixing> mixing =
      prove(std::vector<bool>(symbols.size(), true), failed);
  if (!mixing)
    return true;
  if (mixing->isInvalid) {
    reportInvalid(0, *mixing, failed);
    return false;
  }
  if (!computesPlaces) {
    computesPlaces = true;
    return proveEach() && proveTogether();
  }
  // Sizes that are listed, or few, need no padding.
  for (size_t index = 0; index < symbols.size(); ++index)
    if (padded[index] &&
        (symbols[index].isList() ||
         countSizes(symbols[index]) <= kMostVariants / otherVariants(index)))
      return makeExact(index, *mixing, failed) && proveTogether();
  emitError(mixing->loc) << sizesText(failed) << " cannot be padded to "
                         << sizesText(variantFor(failed)) << ", as this "
                         << mixing->reason
                         << "; list the sizes of one of them in full";
  return false;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Adds the actual sizes that masks need to the variants' modules, as inputs
/// after the model's own, the same in every variant.
void Variants::putMasks() {
  std::vector<bool> needed(symbols.size());
  for (const auto &[large, proof] : proofs)
    if (proof.proof)
      for (auto [index, isNeeded] :
           llvm::enumerate(proof.proof->masks.symbols()))
        needed[index] = needed[index] || isNeeded;
  // Lengths that no extent tells are computed of the sizes (countLengths).
  for (const plan::OpenVariant &variant : shapes.variants) {
    Sizes sizes(variant.sizes.begin(), variant.sizes.end());
    for (auto [output, shape] : llvm::enumerate(known.at(sizes).outputs))
      for (size_t dim = 0; dim < shape.size(); ++dim)
        if (auto expr = sampleLengths(sizes, output, dim).fit();
            expr && !expr->isExtent()) {
          needed[expr->symbol] = true;
          if (expr->secondFactor)
            needed[expr->second] = true;
        }
  }
  for (size_t index = 0; index < symbols.size(); ++index)
    if (needed[index])
      shapes.sizes.push_back(index);
  for (auto [module, variant] : llvm::zip_equal(modules, shapes.variants)) {
    func::FuncOp main = mainOf(*module);
    std::vector<Value> values(symbols.size());
    for (unsigned index : shapes.sizes) {
      Builder b(&context);
      unsigned at = main.getNumArguments();
      auto name = b.getNamedAttr(
          "nn.name", b.getStringAttr("size." + symbols[index].name));
      (void)main.insertArgument(at, RankedTensorType::get({}, b.getI64Type()),
                                b.getDictionaryAttr(name), main.getLoc());
      values[index] = main.getArgument(at);
    }
    Sizes sizes(variant.sizes.begin(), variant.sizes.end());
    if (auto found = proofs.find(sizes);
        found != proofs.end() && found->second.proof)
      found->second.proof->masks.apply(
          [&](unsigned symbol) { return values[symbol]; });
  }
}
