//===- SparseWeights.cpp - Keep two of four neighbours of weights ---------===//
//
//   %w = nn.constant "fc.weight" dense<[[1.0, -3.0, 2.0, 0.5]]>
//   %y = nn.matmul %x, %w {transpose_b}
// ==>
//   %w = nn.constant "fc.weight" dense<[[0.0, -3.0, 2.0, 0.0]]> {nn.sparse}
//   %y = nn.matmul %x, %w {transpose_b}
//
// Of four neighbours along k, the two of the largest magnitudes stay. Without
// `prune`, weights must be so already. The weights of products whose result
// leaves the model, such as logits, stay dense, as do small ones, and those
// that something else than products reads, such as a table of embeddings.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/sparse/Sparsity.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/quantize/RoundableProducts.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace frit {
#define GEN_PASS_DEF_SPARSEWEIGHTS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

std::optional<Sparsity> frit::readSparsity(StringRef text) {
  if (text == "2:4")
    return Sparsity::required;
  if (text == "2:4:magnitude")
    return Sparsity::pruned;
  return std::nullopt;
}

namespace {
/// A constant in a product's matrix, and whether k runs down its columns.
using Leaf = std::pair<ConstantOp, bool>;

class SparseWeights : public frit::impl::SparseWeightsBase<SparseWeights> {
public:
  SparseWeights(bool prunes, PrunedWeights *shared) : shared(shared) {
    prune = prunes;
  }

  void runOnOperation() override {
    llvm::MapVector<ConstantOp, std::pair<MatmulOp, bool>> weights;
    getOperation().walk([&](MatmulOp product) { collect(product, weights); });
    for (auto &[constant, reader] : weights)
      if (failed(keep(constant, reader.first, reader.second)))
        return signalPassFailure();
  }

private:
  void collect(MatmulOp product,
               llvm::MapVector<ConstantOp, std::pair<MatmulOp, bool>> &weights);
  LogicalResult keep(ConstantOp constant, MatmulOp reader, bool transposed);

  PrunedWeights *shared, own;
};
} // namespace

static bool swapsBoth(TransposeOp move) {
  return move.getPerm() == ArrayRef<int64_t>{1, 0};
}

/// Collects the constants that a matrix is made of. Returns whether it is made
/// of nothing else.
static bool collectLeaves(Value matrix, bool transposed,
                          SmallVectorImpl<Leaf> &leaves) {
  Operation *def = matrix.getDefiningOp();
  if (auto cast = dyn_cast_or_null<CastOp>(def))
    return collectLeaves(cast.getX(), transposed, leaves);
  if (auto move = dyn_cast_or_null<TransposeOp>(def))
    return swapsBoth(move) && collectLeaves(move.getX(), !transposed, leaves);
  if (auto concat = dyn_cast_or_null<ConcatOp>(def))
    return llvm::all_of(concat.getXs(), [&](Value part) {
      return collectLeaves(part, transposed, leaves);
    });
  auto constant = dyn_cast_or_null<ConstantOp>(def);
  if (constant)
    leaves.emplace_back(constant, transposed);
  return bool(constant);
}

/// Returns whether all readers of a value are products of which it is a part of
/// the matrix, with k along the same dimension.
static bool onlyProductsRead(Value value, bool transposed) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto product = dyn_cast<MatmulOp>(user))
      return use.getOperandNumber() == 1 &&
             product.getTransposeB() != transposed && isRoundable(product);
    if (auto move = dyn_cast<TransposeOp>(user))
      return swapsBoth(move) && onlyProductsRead(move.getY(), !transposed);
    return isa<CastOp, ConcatOp>(user) &&
           onlyProductsRead(user->getResult(0), transposed);
  });
}

static void remarkDense(MatmulOp product, const Twine &why) {
  remark::missed(product.getLoc(),
                 remark::RemarkOpts::name("Dense").category("sparse"))
      << remark::add("its weight stays dense: {0}", why.str());
}

void SparseWeights::collect(
    MatmulOp product,
    llvm::MapVector<ConstantOp, std::pair<MatmulOp, bool>> &weights) {
  if (!isRoundable(product))
    return;
  if (endsModel(product))
    return remarkDense(product, "the product's result leaves the model");
  SmallVector<Leaf> leaves;
  if (!collectLeaves(product.getB(), !product.getTransposeB(), leaves))
    return remarkDense(product, "it is computed from constants");
  for (auto [constant, transposed] : leaves) {
    if (tensorType(constant).getRank() != 2 ||
        tensorType(constant).getNumElements() < fewest)
      remarkDense(product, "it is small");
    else if (!SparseConstant::of(constant.getValue(), transposed))
      remarkDense(product,
                  "k is no multiple of 4, or its numbers are no floats "
                  "of 32 or 16 bits");
    else if (!onlyProductsRead(constant.getY(), transposed))
      remarkDense(product, "not only products of the same k read it");
    else
      weights.insert({constant, {product, transposed}});
  }
}

LogicalResult SparseWeights::keep(ConstantOp constant, MatmulOp reader,
                                  bool transposed) {
  auto matrix = *SparseConstant::of(constant.getValue(), transposed);
  StringRef name = constant.getName().value_or("");
  UnitAttr unit = UnitAttr::get(&getContext());
  auto dense = matrix.findDense();
  if (!dense) {
    constant->setAttr(kSparse, unit);
    remark::passed(reader.getLoc(),
                   remark::RemarkOpts::name("Sparse").category("sparse"))
        << remark::add("its weight '{0}' is 2:4 sparse", name);
    return success();
  }
  auto [row, column] = *dense;
  if (!prune)
    return emitError(reader.getLoc(), "the weight '")
           << name << "' is not 2:4 sparse: for column " << row
           << " of the result, more than two of its numbers " << column
           << " to " << column + 3
           << " along k are not 0; -fsparse=2:4:magnitude keeps the two "
              "largest";
  PrunedWeights &known = shared ? *shared : own;
  auto key = std::pair(constant.getValue().getAsOpaquePointer(), transposed);
  auto found = known.find(key);
  if (found == known.end())
    found = known.emplace(key, matrix.prune()).first;
  auto [value, part] = found->second;
  constant.setValueAttr(value);
  constant->setAttr(kSparse, unit);
  remark::passed(reader.getLoc(),
                 remark::RemarkOpts::name("Pruned").category("sparse"))
      << remark::add("its weight '{0}' keeps 2 of 4 neighbours, which have "
                     "{1:F1} % of the sum of squares",
                     name, 100 * part);
  return success();
}

std::unique_ptr<Pass> frit::createSparseWeights(bool prunes,
                                                PrunedWeights *pruned) {
  return std::make_unique<SparseWeights>(prunes, pruned);
}
