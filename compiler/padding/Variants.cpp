//===- Variants.cpp - A model for several sizes of its open dimensions ----===//
//
// Sizes without a variant are imported too, to prove that they may be padded
// and to learn the shapes of their outputs; those modules are then discarded.
// README.md in this folder explains why.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/Variants.h"

#include "dialects/nn/IndexRange.h"
#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace frit;
using plan::Extent;

static ArrayRef<int64_t> shapeOfType(Type type) {
  return cast<RankedTensorType>(type).getShape();
}

std::string Variants::sizesText(const Sizes &sizes) const {
  std::string text;
  for (auto [symbol, size] : llvm::zip_equal(symbols, sizes))
    text +=
        (text.empty() ? "" : ", ") + symbol.name + " " + std::to_string(size);
  return text;
}

std::string Variants::suffix(size_t variant) const {
  if (shapes.variants.empty())
    return "";
  std::string text = "_";
  for (auto [i, size] : llvm::enumerate(shapes.variants[variant].sizes))
    text += (i ? "x" : "") + std::to_string(size);
  return text;
}

std::vector<Variants::Sizes>
Variants::combine(const std::vector<Sizes> &lists) {
  std::vector<Sizes> all = {{}};
  for (const Sizes &list : lists) {
    std::vector<Sizes> longer;
    for (const Sizes &start : all)
      for (int64_t size : list) {
        longer.push_back(start);
        longer.back().push_back(size);
      }
    all = std::move(longer);
  }
  return all;
}

Variants::Sizes Variants::largest() const {
  Sizes sizes;
  for (const SymbolSizes &symbol : symbols)
    sizes.push_back(symbol.sizes.back());
  return sizes;
}

Variants::Sizes Variants::variantFor(const Sizes &sizes) const {
  Sizes result;
  for (auto [symbol, size] : llvm::zip_equal(symbols, sizes))
    result.push_back(*llvm::lower_bound(symbol.sizes, size));
  return result;
}

bool Variants::isServed(const Sizes &sizes) const {
  return llvm::all_of(llvm::zip_equal(symbols, padded, sizes), [](auto entry) {
    auto &[symbol, isPadded, size] = entry;
    return isPadded || llvm::is_contained(symbol.sizes, size);
  });
}

bool Variants::build() {
  padded.assign(symbols.size(), true);
  // Errors that do not depend on sizes are reported here.
  Mixing first{UnknownLoc::get(&context), "", true};
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler listen(&context, [&](Diagnostic &diagnostic) {
      if (first.reason.empty() &&
          diagnostic.getSeverity() == DiagnosticSeverity::Error)
        first = {diagnostic.getLocation(), diagnostic.str(), true};
      return failure(); // others handle it, too
    });
    module = import(largest(), {computesPlaces});
  }
  if (!module) {
    explainFailure(first);
    return false;
  }
  record(largest(), *module);
  if (!proveEach() || !proveTogether() || !importVariants())
    return false;
  putMasks();
  countLengths();
  proofs.clear();
  describeVariants();
  if (!checkExtents())
    return false;
  describeSymbols();
  return true;
}

//===----------------------------------------------------------------------===//
// Imports
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kIndices = "nn.indices";

void Variants::record(const Sizes &sizes, ModuleOp module) {
  Shapes &shapes = known[sizes];
  shapes = {};
  for (Type type : mainOf(module).getArgumentTypes())
    shapes.inputs.emplace_back(shapeOfType(type));
  for (Type type : mainOf(module).getResultTypes())
    shapes.outputs.emplace_back(shapeOfType(type));
  auto boundsOf = [](ArrayAttr indices) {
    SmallVector<int64_t> bounds;
    if (indices)
      for (const nn::IndexRange &range : nn::indicesOf(indices))
        bounds.append({range.least, range.most});
    return bounds;
  };
  for (unsigned i = 0; i < shapes.inputs.size(); ++i)
    shapes.inputBounds.push_back(
        boundsOf(mainOf(module).getArgAttrOfType<ArrayAttr>(i, kIndices)));
  for (unsigned i = 0; i < shapes.outputs.size(); ++i)
    shapes.outputBounds.push_back(
        boundsOf(mainOf(module).getResultAttrOfType<ArrayAttr>(i, kIndices)));
}

OwningOpRef<ModuleOp> Variants::importQuietly(const Sizes &sizes,
                                              Mixing *failure,
                                              std::vector<int64_t> *choices,
                                              bool followsChoices) {
  ScopedDiagnosticHandler quiet(&context, [&](Diagnostic &diagnostic) {
    if (failure && failure->reason.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      *failure = {diagnostic.getLocation(), diagnostic.str(), true};
  });
  OwningOpRef<ModuleOp> module =
      import(sizes, {computesPlaces, choices, followsChoices});
  if (module)
    record(sizes, *module);
  return module;
}

bool Variants::importVariants() {
  std::vector<Sizes> lists;
  for (const SymbolSizes &symbol : symbols)
    lists.emplace_back(symbol.sizes.begin(), symbol.sizes.end());
  for (const Sizes &sizes : combine(lists)) {
    plan::OpenVariant &variant = shapes.variants.emplace_back();
    variant.sizes.assign(sizes.begin(), sizes.end());
    // Use the proved module, which has the masks and decomposed composites.
    if (auto found = proofs.find(sizes);
        found != proofs.end() && !found->second.proof->masks.empty()) {
      modules.push_back(std::move(found->second.large));
      continue;
    }
    Mixing failure{UnknownLoc::get(&context), "", true};
    OwningOpRef<ModuleOp> module = importQuietly(sizes, &failure);
    if (!module) {
      reportInvalid(findInvalid(sizes), failure, sizes);
      return false;
    }
    modules.push_back(std::move(module));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

std::vector<SmallVector<Extent>> Variants::inputExtents(const Sizes &sizes,
                                                        ModuleOp module) const {
  std::vector<SmallVector<Extent>> result;
  func::FuncOp main = mainOf(module);
  for (BlockArgument argument : main.getArguments()) {
    SmallVector<Extent> &extents = result.emplace_back();
    auto names =
        main.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "nn.symbols");
    if (!names)
      continue;
    for (auto [dim, name] : llvm::enumerate(names.getAsRange<StringAttr>())) {
      auto found = llvm::find_if(symbols, [&](const SymbolSizes &symbol) {
        return symbol.name == name.getValue();
      });
      Extent &extent = extents.emplace_back();
      if (found != symbols.end())
        extent = {unsigned(found - symbols.begin()), std::nullopt, 1, 0};
      else if (!name.empty()) // a sum
        extent = extentOf(sizes, &Shapes::inputs, argument.getArgNumber(), dim);
    }
  }
  return result;
}

/// Derives how a dimension depends on a symbol, for the variant of `sizes`,
/// from imports in which only that symbol has another size. In a sum of two,
/// that of one which is not padded is known.
Extent Variants::extentOf(const Sizes &sizes, ShapeList Shapes::*list,
                          size_t tensor, size_t dim) const {
  int64_t length = (known.at(sizes).*list)[tensor][dim];
  SmallVector<unsigned> order;
  for (bool isPadded : {true, false})
    for (unsigned index = 0; index < symbols.size(); ++index)
      if (padded[index] == isPadded)
        order.push_back(index);
  Extent result;
  for (unsigned index : order) {
    for (const auto &[others, shapes] : known) {
      Sizes moved = others;
      moved[index] = sizes[index];
      if (moved != sizes || (shapes.*list)[tensor].size() <= dim)
        continue;
      int64_t change = length - (shapes.*list)[tensor][dim];
      int64_t by = sizes[index] - others[index];
      if (change == 0 || change % by != 0)
        continue;
      int64_t factor = change / by;
      result = {index, std::nullopt, factor, length - factor * sizes[index]};
      // Prefer a smaller size, which a call of this variant may have.
      if (by > 0)
        break;
    }
    if (result.symbol)
      break;
  }
  return result;
}

/// Collects the lengths of an output's dimension in all calls that the variant
/// of `sizes` serves.
SizeSamples Variants::sampleLengths(const Sizes &sizes, size_t output,
                                    size_t dim) const {
  SizeSamples samples;
  for (const auto &[others, shapes] : known)
    if (isServed(others) && variantFor(others) == sizes &&
        shapes.outputs[output].size() > dim)
      samples.add(others, shapes.outputs[output][dim]);
  return samples;
}

/// Returns whether an output's dimension has the length that an extent says in
/// all calls that the variant of `sizes` serves.
bool Variants::isLengthOf(const Extent &extent, const Sizes &sizes,
                          size_t output, size_t dim) const {
  SizeSamples samples = sampleLengths(sizes, output, dim);
  return extent.symbol
             ? samples.match({*extent.symbol, extent.factor, extent.offset,
                              extent.divisor, extent.shift})
             : samples.isFixed();
}

/// Derives how an output's dimension depends on a symbol, also if it is what
/// windows with a stride leave.
Extent Variants::outputExtentOf(const Sizes &sizes, size_t output,
                                size_t dim) const {
  Extent extent = extentOf(sizes, &Shapes::outputs, output, dim);
  if (isLengthOf(extent, sizes, output, dim))
    return extent;
  SizeSamples samples = sampleLengths(sizes, output, dim);
  // Windows with a stride may leave as much of 3 elements as of 4.
  if (samples.isFixed())
    return Extent();
  if (auto size = samples.fit(); size && size->isExtent())
    extent = {size->symbol, std::nullopt,  size->factor,
              size->offset, size->divisor, size->shift};
  return extent;
}

/// Returns whether imports for more sizes may show that the length of an output
/// is another.
bool Variants::areLengthsAmbiguous(const Sizes &sizes) const {
  Sizes multiples;
  for (const SymbolSizes &symbol : symbols)
    multiples.push_back(symbol.multiple);
  for (auto [output, shape] : llvm::enumerate(known.at(sizes).outputs))
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (sampleLengths(sizes, output, dim).isAmbiguous(multiples))
        return true;
  return false;
}

/// Returns sizes that the variant of `large` serves and for which an import
/// tells whether a mask or the length of an output is wrong, or nothing.
std::optional<Variants::Sizes>
Variants::findProbe(const Sizes &large, const PaddingMasks &masks) const {
  Sizes least, multiples;
  for (size_t index = 0; index < symbols.size(); ++index) {
    least.push_back(leastServed(index, large[index]));
    multiples.push_back(symbols[index].multiple);
  }
  auto probe = masks.findProbe(least);
  for (auto [output, shape] : llvm::enumerate(known.at(large).outputs))
    for (size_t dim = 0; dim < shape.size() && !probe; ++dim)
      probe =
          sampleLengths(large, output, dim).findProbe(least, large, multiples);
  if (!probe)
    return std::nullopt;
  return Sizes(probe->begin(), probe->end());
}

void Variants::describeSymbols() {
  for (auto [symbol, isPadded] : llvm::zip_equal(symbols, padded)) {
    // Without padding, the smallest size is the first of the list.
    int64_t least = isPadded ? symbol.least : symbol.sizes.front();
    shapes.symbols.push_back(
        {symbol.name, least, symbol.sizes.back(), isPadded, symbol.multiple});
  }
}

void Variants::describeVariants() {
  for (auto [variant, module] : llvm::zip_equal(shapes.variants, modules)) {
    Sizes sizes(variant.sizes.begin(), variant.sizes.end());
    variant.inputs = inputExtents(sizes, *module);
    func::FuncOp main = mainOf(*module);
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      main.removeArgAttr(i, "nn.symbols");
      if (auto indices = main.getArgAttrOfType<ArrayAttr>(i, kIndices))
        main.setArgAttr(
            i, kIndices,
            describeIndices(sizes, &Shapes::inputBounds, i, indices));
    }
    for (unsigned i = 0; i < main.getNumResults(); ++i)
      if (auto indices = main.getResultAttrOfType<ArrayAttr>(i, kIndices))
        main.setResultAttr(
            i, kIndices,
            describeIndices(sizes, &Shapes::outputBounds, i, indices));
    for (auto [output, shape] : llvm::enumerate(known.at(sizes).outputs)) {
      SmallVector<Extent> &extents = variant.outputs.emplace_back();
      for (size_t dim = 0; dim < shape.size(); ++dim)
        extents.push_back(counted.count({output, dim})
                              ? Extent()
                              : outputExtentOf(sizes, output, dim));
    }
  }
}

/// Returns the first tensor of `list` whose shape for `sizes` is not what its
/// extents in the variant say.
std::optional<size_t>
Variants::findMisfit(const Sizes &sizes, ShapeList Shapes::*list,
                     ArrayRef<SmallVector<Extent>> extents) const {
  const ShapeList &whole = known.at(variantFor(sizes)).*list;
  for (auto [tensor, shape] : llvm::enumerate(known.at(sizes).*list))
    for (auto [dim, length] : llvm::enumerate(shape)) {
      if (list == &Shapes::outputs && counted.count({tensor, dim}))
        continue;
      int64_t expected = whole[tensor][dim];
      if (!extents[tensor].empty())
        if (const Extent &extent = extents[tensor][dim]; extent.symbol)
          expected = SizeExpr{*extent.symbol, extent.factor, extent.offset,
                              extent.divisor, extent.shift}(sizes);
      if (length != expected)
        return tensor;
    }
  return std::nullopt;
}

/// Checks the derived extents against the shapes of all imports. If they do not
/// match, lists accept only the sizes in them.
bool Variants::checkExtents() {
  for (const auto &[sizes, own] : known) {
    if (!isServed(sizes))
      continue;
    Sizes target = variantFor(sizes);
    auto variant = llvm::find_if(shapes.variants, [&](const auto &v) {
      return llvm::equal(v.sizes, target);
    });
    auto input = findMisfit(sizes, &Shapes::inputs, variant->inputs);
    auto output = findMisfit(sizes, &Shapes::outputs, variant->outputs);
    if (!input && !output)
      continue;
    if (llvm::all_of(symbols,
                     [](const SymbolSizes &s) { return s.isList(); })) {
      padded.assign(symbols.size(), false);
      return true;
    }
    func::FuncOp main = mainOf(*modules.front());
    auto name = input
                    ? main.getArgAttrOfType<StringAttr>(*input, "nn.name")
                    : main.getResultAttrOfType<StringAttr>(*output, "nn.name");
    auto shapeIn = [&](const Sizes &which) {
      const Shapes &all = known.at(which);
      return nn::shapeText(input ? all.inputs[*input] : all.outputs[*output]);
    };
    emitError(main.getLoc())
        << (input ? "input" : "output") << " '" << (name ? name.getValue() : "")
        << "' has the shape " << shapeIn(sizes) << " for " << sizesText(sizes)
        << " and " << shapeIn(target) << " for " << sizesText(target)
        << ", which padding cannot tell apart; list the sizes that are needed";
    return false;
  }
  return true;
}
