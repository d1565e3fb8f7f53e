//===- ValidEntries.cpp - Entries of a result that are valid --------------===//

#include "compiler/onnx/bounded/ValidEntries.h"

#include "dialects/nn/lowering/Lowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

namespace {

/// Follows the valid entries through an operator or its parts.
class Propagation {
public:
  explicit Propagation(Node &node) : node(node) {}

  std::optional<DataShape> run(Operation *op, ArrayRef<DataShape> operands) {
    if (isa<nn::ConstantOp>(op) || llvm::all_of(operands, isStatic))
      return staticShape(op->getResult(0).getType());
    if (isa<nn::ElementwiseOp>(op))
      return elementwise(op, operands);
    if (isa<nn::ReshapeOp>(op))
      return node.regroup(operands[0], nn::shapeOf(op->getOperand(0)),
                          nn::shapeOf(op->getResult(0)), /*mustLead=*/true);
    if (isa<nn::CompositeOp>(op))
      return composite(op, operands);
    if (isa<nn::StructuralOp>(op))
      return structural(op, operands);
    return std::nullopt;
  }

private:
  std::optional<DataShape> elementwise(Operation *op,
                                       ArrayRef<DataShape> operands) {
    DataShape result = staticShape(op->getResult(0).getType());
    for (auto [d, size] : llvm::enumerate(result)) {
      std::optional<Size> found;
      for (auto [x, shape] : llvm::zip_equal(op->getOperands(), operands)) {
        auto own = static_cast<int64_t>(d + shape.size() - result.size());
        if (own < 0)
          continue;
        bool repeats = nn::shapeOf(x)[own] == 1 && shape[own] == Size(1);
        if (repeats)
          continue;
        if ((found && !(*found == shape[own])) ||
            nn::shapeOf(x)[own] != nn::shapeOf(op->getResult(0))[d])
          return std::nullopt;
        found = shape[own];
      }
      if (found)
        size = *found;
    }
    return result;
  }

  /// Decomposes a composite in a function of its own.
  std::optional<DataShape> composite(Operation *op,
                                     ArrayRef<DataShape> operands) {
    OwningOpRef<func::FuncOp> function = nn::isolate(op);
    Block *entry = &function->getBody().front();
    Operation *copy = &entry->front();
    nn::NNBuilder builder(copy->getLoc(), copy);
    SmallVector<Value> parts = cast<nn::CompositeOp>(copy).decompose(builder);
    copy->replaceAllUsesWith(parts);
    copy->erase();
    DenseMap<Value, DataShape> known;
    for (auto [argument, shape] :
         llvm::zip_equal(entry->getArguments(), operands))
      known[argument] = shape;
    for (Operation &inner : *entry) {
      auto shapes = llvm::map_to_vector(
          inner.getOperands(), [&](Value x) { return known.lookup(x); });
      auto shape = run(&inner, shapes);
      if (!shape || inner.getNumResults() != 1)
        return std::nullopt;
      known[inner.getResult(0)] = *shape;
    }
    return known.lookup(parts[0]);
  }

  std::optional<DataShape> structural(Operation *op,
                                      ArrayRef<DataShape> operands) {
    Builder types(op->getContext());
    OwningOpRef<func::FuncOp> function = func::FuncOp::create(
        op->getLoc(), "operator",
        types.getFunctionType(
            llvm::map_to_vector(op->getOperandTypes(), nn::signlessType), {}));
    Block *entry = function->addEntryBlock();
    ImplicitLocOpBuilder b(op->getLoc(), OpBuilder::atBlockEnd(entry));
    Value result = nn::lowerToLinalg(op, b, entry->getArguments());
    for (auto [argument, shape] :
         llvm::zip_equal(entry->getArguments(), operands))
      shapes[argument] = shape;
    for (Operation &step : *entry) {
      for (Value made : step.getResults())
        if (isa<RankedTensorType>(made.getType()))
          shapes[made] = staticShape(made.getType());
      if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(step)) {
        Value from = step.getOperand(0), to = step.getResult(0);
        auto shape = node.regroup(shapes.lookup(from), nn::shapeOf(from),
                                  nn::shapeOf(to),
                                  /*mustLead=*/true);
        if (!shape)
          return std::nullopt;
        shapes[to] = *shape;
      } else if (auto loops = dyn_cast<linalg::LinalgOp>(step)) {
        if (!nest(loops))
          return std::nullopt;
      } else if (!isa<tensor::EmptyOp>(step) &&
                 llvm::any_of(step.getOperands(), [&](Value x) {
                   return !isStatic(shapes.lookup(x));
                 })) {
        return std::nullopt;
      }
    }
    return shapes.lookup(result);
  }

  /// Propagates through a loop nest: a loop index is valid as far as the
  /// entries that it reads.
  bool nest(linalg::LinalgOp op) {
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    SmallVector<std::optional<Size>> loops(ranges.size());
    auto read = [&](unsigned loop, const Size &size) {
      if (loops[loop] && !(*loops[loop] == size))
        return false;
      loops[loop] = size;
      return true;
    };
    for (OpOperand *operand : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(operand);
      if (!isa<RankedTensorType>(operand->get().getType()))
        continue;
      for (auto [size, index] :
           llvm::zip_equal(shapes.lookup(operand->get()), map.getResults())) {
        auto dim = dyn_cast<AffineDimExpr>(index);
        if (dim ? !read(dim.getPosition(), size) : !size.isKnown())
          return false;
      }
    }
    bool good = true;
    op->getRegion(0).walk([&](tensor::ExtractOp extract) {
      for (auto [size, index] : llvm::zip_equal(
               shapes.lookup(extract.getTensor()), extract.getIndices())) {
        if (size.isKnown())
          continue;
        auto loop = index.getDefiningOp<linalg::IndexOp>();
        good &= loop && read(loop.getDim(), size);
      }
    });
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      good &= kind == utils::IteratorType::parallel || !loops[loop] ||
              loops[loop]->isKnown();
    if (!good || op->getNumResults() != 1)
      return false;
    OpOperand *init = op.getDpsInitOperand(0);
    DataShape &result = shapes[op->getResult(0)];
    for (auto [d, index] :
         llvm::enumerate(op.getMatchingIndexingMap(init).getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(index);
      if (!dim)
        return false;
      if (loops[dim.getPosition()])
        result[d] = *loops[dim.getPosition()];
    }
    return true;
  }

  Node &node;
  DenseMap<Value, DataShape> shapes;
};

} // namespace

std::optional<DataShape>
frit::importer::validEntries(Node &node, Operation *op,
                             ArrayRef<DataShape> operands) {
  return Propagation(node).run(op, operands);
}
