//===- Indices.cpp - The indices that a model takes -----------------------===//

#include "compiler/padding/Indices.h"
#include "compiler/padding/Padding.h"
#include "compiler/padding/Variants.h"

#include "dialects/nn/IndexRange.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;

static plan::Extent extentOf(ArrayRef<int64_t> bound) {
  if (bound.size() != 5)
    return {};
  return {unsigned(bound[0]), std::nullopt, bound[1],
          bound[2],           bound[3],     bound[4]};
}

static plan::IndexRanges convert(ArrayAttr attribute) {
  plan::IndexRanges ranges;
  if (attribute)
    for (nn::IndexRange &range : nn::indicesOf(attribute))
      ranges.push_back({range.first, range.sizes, range.least, range.most,
                        range.other.value_or(range.least), range.use,
                        extentOf(range.leastOf), extentOf(range.mostOf)});
  return ranges;
}

void frit::describeIndices(ArrayRef<OwningOpRef<ModuleOp>> modules,
                           plan::OpenShapes &shapes) {
  constexpr StringLiteral name = "nn.indices";
  if (shapes.variants.empty())
    shapes.variants.emplace_back();
  for (auto [module, variant] : llvm::zip_equal(modules, shapes.variants)) {
    func::FuncOp main = mainOf(*module);
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      // Others are weights.
      if (main.getArgAttr(i, "nn.name"))
        variant.inputIndices.push_back(
            convert(main.getArgAttrOfType<ArrayAttr>(i, name)));
      main.removeArgAttr(i, name);
    }
    for (unsigned i = 0; i < main.getNumResults(); ++i) {
      variant.outputIndices.push_back(
          convert(main.getResultAttrOfType<ArrayAttr>(i, name)));
      main.removeResultAttr(i, StringAttr::get(main.getContext(), name));
    }
  }
}

ArrayAttr Variants::describeIndices(const Sizes &sizes, ShapeList Shapes::*list,
                                    size_t tensor, ArrayAttr indices) const {
  auto ranges = nn::indicesOf(indices);
  for (size_t i = 0; i < 2 * ranges.size(); ++i) {
    SizeSamples samples;
    for (const auto &[others, shapes] : known)
      if (const ShapeList &bounds = shapes.*list;
          isServed(others) && variantFor(others) == sizes &&
          tensor < bounds.size() && bounds[tensor].size() == 2 * ranges.size())
        samples.add(others, bounds[tensor][i]);
    auto expr = samples.fit();
    if (!expr || !expr->isExtent())
      continue;
    nn::IndexRange &range = ranges[i / 2];
    (i % 2 ? range.mostOf : range.leastOf) = {int64_t(expr->symbol),
                                              expr->factor, expr->offset,
                                              expr->divisor, expr->shift};
  }
  return nn::indicesAttr(context, ranges);
}
