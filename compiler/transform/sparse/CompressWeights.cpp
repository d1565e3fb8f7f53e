//===- CompressWeights.cpp - Sparse weights without their zeros -----------===//
//
//   %w = nn.constant "fc.weight" ... : tensor<4096x1024xbf16>, 2:4 sparse
//   %y = nn.matmul %x, %w {transpose_b}
// ==>
//   %v = nn.constant "fc.weight.values" ... : tensor<256x8x1024xbf16>
//   %p = nn.constant "fc.weight.places" ... : tensor<256x8x256xui8>
//   %s = nn.decompress %v, %p {to = bf16}
//   %y = nn.matmul %x, %s {transpose_b}
//
// for products that a kernel of the target computes faster so. Codes of 8 bits
// with a scale for each row likewise become codes. Others read the matrix with
// its zeros, and so does a function with more rows of the same model.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/CompressWeights.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"
#include "compiler/transform/sparse/CompressConstants.h"
#include "compiler/transform/sparse/Sparsity.h"

#include "mlir/IR/Remarks.h"

namespace frit {
#define GEN_PASS_DEF_COMPRESSWEIGHTS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// Kept numbers or codes, and their places.
struct Parts {
  Value values, places;
  explicit operator bool() const { return bool(values); }
};

class CompressWeights
    : public TargetRewritePass<frit::impl::CompressWeightsBase<CompressWeights>,
                               CompressWeightsRewrite> {
public:
  CompressWeights(const Target &target, CompressedWeights *shared,
                  CompressWeightsOptions options)
      : TargetRewritePass(target), shared(shared) {
    fewest = options.fewest;
    fewestCodes = options.fewestCodes;
  }

private:
  void run(Block &block) override {
    // The constants' values outlive the pass, not the operators.
    known.clear();
    for (MatmulOp product : llvm::to_vector(block.getOps<MatmulOp>()))
      compress(product);
    eraseDead(block);
  }
  void compress(MatmulOp product);
  Value build(NNBuilder &b, MatmulOp product);
  Parts partsOf(NNBuilder &b, Value matrix, bool transposed,
                std::optional<Code> code);
  const CompressedConstant *compressed(ConstantOp constant, bool transposed,
                                       std::optional<Code> code);

  CompressedWeights *shared, own; ///< the former may be null
  /// The operators of a block.
  std::map<std::pair<Operation *, bool>, Parts> known;
};
} // namespace

const CompressedConstant *
CompressWeights::compressed(ConstantOp constant, bool transposed,
                            std::optional<Code> code) {
  std::tuple key{constant.getValue().getAsOpaquePointer(), transposed, code};
  CompressedWeights &constants = shared ? *shared : own;
  auto found = constants.find(key);
  if (found == constants.end())
    found = constants
                .emplace(key, compressConstant(constant.getValue(), transposed,
                                               code))
                .first;
  return found->second ? &*found->second : nullptr;
}

/// Builds the parts of a matrix that is a constant or joins some.
Parts CompressWeights::partsOf(NNBuilder &b, Value matrix, bool transposed,
                               std::optional<Code> code) {
  Operation *def = matrix.getDefiningOp();
  if (auto cast = dyn_cast_or_null<CastOp>(def); cast && !code) {
    Parts parts = partsOf(b, cast.getX(), transposed, code);
    if (parts)
      parts.values = b.cast(parts.values, cast.getTo());
    return parts;
  }
  if (auto move = dyn_cast_or_null<TransposeOp>(def))
    return move.getPerm() == ArrayRef<int64_t>{1, 0}
               ? partsOf(b, move.getX(), !transposed, code)
               : Parts();
  if (auto concat = dyn_cast_or_null<ConcatOp>(def)) {
    if (axisOf(concat.getY(), concat.getAxis()) != (transposed ? 1 : 0))
      return {};
    SmallVector<Value> values, places;
    for (Value x : concat.getXs()) {
      Parts parts = partsOf(b, x, transposed, code);
      if (!parts)
        return {};
      values.push_back(parts.values);
      places.push_back(parts.places);
    }
    return {ConcatOp::create(b, values, 0), ConcatOp::create(b, places, 0)};
  }
  auto constant = dyn_cast_or_null<ConstantOp>(def);
  if (!constant)
    return {};
  Parts &parts = known[{constant, transposed}];
  if (parts)
    return parts;
  const CompressedConstant *value = compressed(constant, transposed, code);
  if (!value)
    return {};
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(constant);
  auto name = [&](StringRef part) {
    StringAttr own = constant.getNameAttr();
    return own ? b.getStringAttr(own.getValue() + part) : StringAttr();
  };
  Location loc = constant.getLoc();
  parts = {ConstantOp::create(b, loc, value->values, name(".values")).getY(),
           ConstantOp::create(b, loc, value->places, name(".places")).getY()};
  return parts;
}

/// Builds the matrix of a product; null if it is not sparse.
Value CompressWeights::build(NNBuilder &b, MatmulOp product) {
  Value matrix = product.getB();
  bool transposed = !product.getTransposeB();
  Type to = tensorType(matrix).getElementType();
  auto codes = matrix.getDefiningOp<DequantizeOp>();
  if (!codes) {
    Parts parts = partsOf(b, matrix, transposed, std::nullopt);
    return parts ? DecompressOp::create(b, parts.values, parts.places, Value(),
                                        StringAttr(), to)
                 : Value();
  }
  QuantizedMatrix quantized = describeQuantized(codes);
  Parts parts = partsOf(b, quantized.codes, transposed, quantized.code);
  if (!parts)
    return {};
  Value scales = b.reshape(quantized.scales, {quantized.rows});
  return DecompressOp::create(b, parts.values, parts.places, scales,
                              codes.getCodeAttr(), to);
}

/// Returns whether -fsparse made or found a part of a matrix sparse.
static bool isMarked(Value matrix, unsigned depth = 8) {
  Operation *def = matrix.getDefiningOp();
  if (!def || depth == 0)
    return false;
  return def->hasAttr(kSparse) ||
         llvm::any_of(def->getOperands(),
                      [&](Value x) { return isMarked(x, depth - 1); });
}

void CompressWeights::compress(MatmulOp product) {
  if (tensorType(product.getB()).getRank() != 2 ||
      !dependsOnConstants(product.getB()))
    return;
  Legality why = rewrite->check(product);
  bool hasCodes = isa_and_nonnull<DequantizeOp>(product.getB().getDefiningOp());
  if (!why && tensorType(product.getB()).getNumElements() <
                  (hasCodes ? fewestCodes : fewest))
    why = Mismatch("it is small");
  NNBuilder b(product.getLoc(), product);
  Value matrix = why ? Value() : build(b, product);
  if (matrix) {
    product.getBMutable().assign(matrix);
    product.setTransposeB(true);
  }
  // Nothing is said of weights that are dense, or that nobody has looked at.
  if (!why || !isMarked(product.getB()))
    return;
  remark::missed(product.getLoc(),
                 remark::RemarkOpts::name("NotCompressed").category("sparse"))
      << remark::add("its sparse weight is read with its zeros: {0}",
                     why->reason());
}

std::unique_ptr<Pass>
frit::createCompressWeights(const Target &target, CompressedWeights *shared,
                            CompressWeightsOptions options) {
  return std::make_unique<CompressWeights>(target, shared, options);
}
