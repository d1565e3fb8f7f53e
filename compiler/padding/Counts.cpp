//===- Counts.cpp - Outputs of data-dependent size ------------------------===//

#include "compiler/padding/Counts.h"
#include "compiler/padding/Padding.h"

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;
using plan::Extent;

void frit::resolveCounts(ModuleOp module) {
  func::FuncOp main = mainOf(module);
  Operation *end = main.getBody().front().getTerminator();
  Builder b(module.getContext());
  SmallVector<Value> results(end->getOperands());
  SmallVector<DictionaryAttr> attributes;
  int64_t counts = 0;
  for (unsigned i = 0; i < results.size(); ++i) {
    attributes.push_back(main.getResultAttrDict(i));
    counts += attributes[i].contains("nn.count");
  }
  llvm::DenseMap<Value, int64_t> numbers;
  for (size_t output = 0, outputs = results.size(); output < outputs;
       ++output) {
    SmallVector<Attribute> dims(
        cast<RankedTensorType>(results[output].getType()).getRank(),
        b.getUnitAttr());
    auto last = results[output].getDefiningOp<nn::CountedOp>();
    for (auto op = last; op; op = op.getX().getDefiningOp<nn::CountedOp>()) {
      auto [it, isNew] = numbers.try_emplace(op.getCount(), counts);
      if (isNew) {
        results.push_back(op.getCount());
        attributes.push_back(b.getDictionaryAttr(
            {b.getNamedAttr("nn.name",
                            b.getStringAttr("count." + Twine(counts++))),
             b.getNamedAttr("nn.count", b.getUnitAttr())}));
      }
      dims[op.getAxis()] = b.getDenseI64ArrayAttr({it->second, 1, 0});
    }
    if (!last)
      continue;
    NamedAttrList all(attributes[output]);
    all.set("nn.extents", b.getArrayAttr(dims));
    attributes[output] = all.getDictionary(module.getContext());
  }
  end->setOperands(results);
  main.setFunctionType(b.getFunctionType(main.getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  main.setAllResultAttrs(attributes);
  for (nn::CountedOp op :
       llvm::make_early_inc_range(main.getBody().getOps<nn::CountedOp>())) {
    op.replaceAllUsesWith(op.getX());
    op.erase();
  }
}

//===----------------------------------------------------------------------===//
// Reading the attributes
//===----------------------------------------------------------------------===//

/// Returns the number of counts of @main, which are its last results.
static unsigned numCounts(func::FuncOp main) {
  unsigned count = 0;
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    count += bool(main.getResultAttr(i, "nn.count"));
  return count;
}

/// Adds the counts of one variant's outputs. Returns false after an error.
static bool describeOutputs(func::FuncOp main, plan::OpenVariant &variant,
                            ArrayRef<plan::OpenSymbol> symbols) {
  variant.outputs.resize(main.getNumResults());
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    auto dims = main.getResultAttrOfType<ArrayAttr>(i, "nn.extents");
    if (!dims)
      continue;
    SmallVector<Extent> &extents = variant.outputs[i];
    extents.resize(dims.size());
    for (auto [extent, dim] : llvm::zip_equal(extents, dims)) {
      auto counted = dyn_cast<DenseI64ArrayAttr>(dim);
      if (!counted)
        continue;
      // A symbol that is not padded always has its compiled size.
      if (extent.symbol && symbols[*extent.symbol].padded) {
        emitError(main.getLoc())
            << "a dimension of an output depends on the data and on '"
            << symbols[*extent.symbol].name << "'; list the sizes of that";
        return false;
      }
      extent = {std::nullopt, unsigned(counted[0]), counted[1], counted[2]};
    }
  }
  return true;
}

bool frit::describeCounts(ArrayRef<OwningOpRef<ModuleOp>> modules,
                          plan::OpenShapes &shapes) {
  if (modules.empty())
    return true;
  shapes.counts = numCounts(mainOf(*modules.front()));
  if (shapes.counts == 0)
    return true;
  if (shapes.variants.empty())
    shapes.variants.emplace_back();
  for (auto [module, variant] : llvm::zip_equal(modules, shapes.variants)) {
    func::FuncOp main = mainOf(*module);
    if (numCounts(main) != shapes.counts) {
      emitError(main.getLoc())
          << "the data decide about more outputs in some variants than in "
             "others; list sizes for which they are the same";
      return false;
    }
    if (!describeOutputs(main, variant, shapes.symbols))
      return false;
  }
  return true;
}
