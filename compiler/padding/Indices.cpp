//===- Indices.cpp - The indices that a model takes -----------------------===//

#include "compiler/padding/Indices.h"
#include "compiler/padding/Padding.h"

#include "dialects/nn/IndexRange.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;

static SmallVector<plan::IndexRange> convert(ArrayAttr attribute) {
  SmallVector<plan::IndexRange> ranges;
  if (attribute)
    for (nn::IndexRange &range : nn::indicesOf(attribute))
      ranges.push_back({range.first, range.sizes, range.least, range.most,
                        range.other.value_or(range.least), range.use});
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
