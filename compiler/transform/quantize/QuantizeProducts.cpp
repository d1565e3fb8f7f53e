//===- QuantizeProducts.cpp - Products of floats in 8 bits ----------------===//
//
//   %y = nn.conv %x, %w, %b
// ==>
//   %q = nn.cast nn.min(nn.max(nn.add(nn.round(nn.div %x, 0.1), 3), 0), 255)
//   %d = nn.mul nn.cast(nn.sub(nn.cast %q : ui8, 3)), 0.1
//   %t = nn.div nn.reduce(nn.abs %w) {max, axes of a filter}, 127
//   %v = nn.cast nn.min(nn.max(nn.round(nn.div %w, %t), -127), 127)
//   %e = nn.mul nn.cast(nn.cast %v : i8), %t
//   %y = nn.conv %d, %e, %b
//
// which is the form of QDQ models. Floats of 8 bits are rounded by a cast to
// f8E4M3FN instead, 448 is their largest number, and there is no zero point:
//
//   %q = nn.cast (nn.div %x, 0.1) {to = f8E4M3FN}
//   %d = nn.mul nn.cast(%q), 0.1
//
// With scales of rows, each is (nn.reduce(nn.abs %x) {max, last axis}) / 448.
// A tensor is quantized once for all products
// with the same scale, and before it is pooled or moved.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/quantize/QuantizeProducts.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/quantize/CheckScales.h"

#include "mlir/IR/Remarks.h"

#include <map>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Steps through which a tensor is followed to where it is quantized.
static constexpr int kMostSteps = 16;

namespace {
class ProductQuantizer {
public:
  ProductQuantizer(ModuleOp module, const ScaleTable &table)
      : main(module.lookupSymbol<func::FuncOp>("main")), table(table) {}

  LogicalResult run(bool switches);

private:
  void quantize(const QuantizableProduct &product, const ProductScales &row);
  Value quantizeInput(const QuantizableProduct &product,
                      const ProductScales &row);
  Value quantizeWeights(const QuantizableProduct &product,
                        const ProductScales &row);
  Value gate(NNBuilder &b, Value quantized, Value wide) const;

  func::FuncOp main;
  const ScaleTable &table;
  Value condition; ///< of the current product; null: always
  struct Codes {
    Value codes;
    Value scale; ///< of rows; otherwise null
  };
  using Key = std::tuple<void *, InputCode, float, int64_t>;
  std::map<Key, Codes> known; ///< by tensor
};
} // namespace

/// The least scale of weights and of rows, which keeps those of zeros finite.
static constexpr double kLeastScale = 0x1p-100;

/// Builds x / scale as floats of 8 bits; larger ones become the largest.
static Value buildFloats(NNBuilder &b, Value x, Value scale) {
  return b.cast(b.div(x, scale), Float8E4M3FNType::get(b.getContext()));
}

/// Builds the scales by which the largest number of each slice along `axes` is
/// `most`.
static Value buildScales(NNBuilder &b, Value x, ArrayRef<int64_t> axes,
                         double most) {
  Value scale = b.reduce(AbsOp::create(b, x), Combiner::max, axes);
  scale = b.div(scale, b.scalarLike(scale, most));
  return MaxOp::create(b, scale, b.scalarLike(scale, kLeastScale));
}

/// Builds round(x / scale) + zero in the range of a type of 8 bits.
static Value buildCodes(NNBuilder &b, Value x, Value scale, int64_t zero,
                        CodeRange range, Type type) {
  Value y = RoundOp::create(b, b.div(x, scale));
  if (zero)
    y = b.add(y, b.scalarLike(y, double(zero)));
  y = MaxOp::create(b, y, b.scalarLike(y, double(range.least)));
  y = MinOp::create(b, y, b.scalarLike(y, double(range.most)));
  return b.cast(y, type);
}

/// Builds the numbers that codes stand for.
static Value buildNumbers(NNBuilder &b, Value codes, Value scale,
                          int64_t zero) {
  if (isa<FloatType>(tensorType(codes).getElementType()))
    return b.mul(b.cast(codes, b.getF32Type()), scale);
  Value y = b.cast(codes, b.getI32Type());
  if (zero)
    y = b.sub(y, b.scalarLike(y, double(zero)));
  return b.mul(b.cast(y, b.getF32Type()), scale);
}

/// Creates a constant of f32.
static Value createVector(NNBuilder &b, ArrayRef<float> numbers,
                          ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, b.getF32Type());
  return ConstantOp::create(b, DenseElementsAttr::get(type, numbers),
                            StringAttr());
}

static void setAfter(NNBuilder &b, Value value) {
  if (Operation *def = value.getDefiningOp())
    b.setInsertionPointAfter(def);
  else
    b.setInsertionPointToStart(value.getParentBlock());
}

Value ProductQuantizer::gate(NNBuilder &b, Value quantized, Value wide) const {
  return condition ? Value(WhereOp::create(b, condition, quantized, wide))
                   : quantized;
}

Value ProductQuantizer::quantizeInput(const QuantizableProduct &product,
                                      const ProductScales &row) {
  // Rounding commutes with movement and with maxima.
  Value root = product.input();
  SmallVector<Operation *> moves;
  bool isFloat = row.code == InputCode::e4m3;
  for (int i = 0; i < kMostSteps && row.smooth.empty() && !row.ofRows; ++i) {
    Operation *def = root.getDefiningOp();
    if (!isa_and_nonnull<ReshapeOp, TransposeOp, MaxPoolOp>(def) ||
        (isFloat && isa<MaxPoolOp>(def)) ||
        !tensorType(def->getOperand(0)).getElementType().isF32())
      break;
    moves.push_back(def);
    root = def->getOperand(0);
  }
  NNBuilder b(product.op->getLoc(), product.op);
  Codes own;
  Codes &shared = known[{root.getAsOpaquePointer(), row.code,
                         row.ofRows ? 0 : row.scale, row.zero}];
  Codes &found = row.smooth.empty() ? shared : own;
  Value &codes = found.codes;
  if (!codes) {
    setAfter(b, root);
    // A switch is read at the start of the function.
    if (condition && !root.getDefiningOp())
      setAfter(b, condition);
    Value x = root;
    if (!row.smooth.empty()) {
      std::vector<float> factors;
      for (float factor : row.smooth)
        factors.push_back(1 / factor);
      x = b.mul(x, createVector(b, factors, {int64_t(factors.size())}));
    }
    Type type = row.code == InputCode::u8
                    ? b.getIntegerType(8, /*isSigned=*/false)
                    : b.getIntegerType(8);
    if (row.ofRows)
      found.scale = buildScales(b, x, {tensorType(x).getRank() - 1}, kMostE4m3);
    Value by = row.ofRows ? found.scale : createVector(b, {row.scale}, {});
    codes = isFloat ? buildFloats(b, x, by)
                    : buildCodes(b, x, by, row.zero, rangeOf(row.code), type);
  }
  // Other readers then need not keep the wide tensor.
  auto needsNoMore = [&](OpOperand &use) {
    Operation *reader = use.getOwner();
    return isa<AddOp, AvgPoolOp, MaxPoolOp>(reader) &&
           reader->getBlock() == codes.getParentBlock() &&
           codes.getDefiningOp()->isBeforeInBlock(reader) &&
           !llvm::is_contained(moves, reader);
  };
  if (product.isConv() && llvm::any_of(root.getUses(), needsNoMore)) {
    b.setInsertionPointAfter(codes.getDefiningOp());
    Value again =
        buildNumbers(b, codes, createVector(b, {row.scale}, {}), row.zero);
    again = gate(b, again, root);
    root.replaceUsesWithIf(again, needsNoMore);
  }
  b.setInsertionPoint(product.op);
  Value y = codes;
  Value scale = row.ofRows ? found.scale : createVector(b, {row.scale}, {});
  for (Operation *move : llvm::reverse(moves)) {
    if (auto pool = dyn_cast<MaxPoolOp>(move)) {
      y = MaxPoolOp::create(b, y, pool.getWindow(), pool.getStrides(),
                            pool.getPads(), pool.getDilations(),
                            pool.getShape(), pool.getChannelsLast());
      continue;
    }
    Type element = tensorType(y).getElementType();
    Operation *copy = b.clone(*move);
    copy->setOperand(0, y);
    copy->getResult(0).setType(resultType(move).clone(element));
    y = copy->getResult(0);
  }
  return gate(b, buildNumbers(b, y, scale, row.zero), product.input());
}

Value ProductQuantizer::quantizeWeights(const QuantizableProduct &product,
                                        const ProductScales &row) {
  bool isFloat = row.code == InputCode::e4m3;
  NNBuilder b(product.op->getLoc(), product.op);
  Value w = product.weights();
  int64_t rank = tensorType(w).getRank();
  auto matmul = dyn_cast<MatmulOp>(product.op);
  int64_t axis = matmul && !matmul.getTransposeB() ? 1 : 0;
  if (!row.smooth.empty())
    w = b.mul(w,
              createVector(b, row.smooth,
                           axis == 1 ? ArrayRef<int64_t>{product.depth(), 1}
                                     : ArrayRef<int64_t>{1, product.depth()}));
  Value scale;
  if (row.weights.empty()) {
    SmallVector<int64_t> axes;
    for (int64_t i = 0; i < rank; ++i)
      if (i != axis)
        axes.push_back(i);
    scale = buildScales(b, w, axes, isFloat ? kMostE4m3 : 127);
  } else {
    SmallVector<int64_t> shape(rank, 1);
    shape[axis] = product.columns();
    scale = createVector(b, row.weights, shape);
  }
  Value codes =
      isFloat ? buildFloats(b, w, scale)
              : buildCodes(b, w, scale, 0, {-127, 127}, b.getIntegerType(8));
  Value y = buildNumbers(b, codes, scale, 0);
  return gate(b, y, product.weights());
}

void ProductQuantizer::quantize(const QuantizableProduct &product,
                                const ProductScales &row) {
  Value x = quantizeInput(product, row);
  Value w = quantizeWeights(product, row);
  product.op->setOperand(0, x);
  product.op->setOperand(1, w);
}

LogicalResult ProductQuantizer::run(bool switches) {
  std::vector<QuantizableProduct> products =
      findQuantizable(main->getParentOfType<ModuleOp>());
  ScaleCheck scales(main, table);
  if (failed(scales.checkNames(products)))
    return failure();
  Value vector;
  if (switches) {
    Builder b(main.getContext());
    auto type =
        RankedTensorType::get({int64_t(table.rows.size())}, b.getF32Type());
    unsigned place = main.getNumArguments();
    (void)main.insertArgument(place, type,
                              b.getDictionaryAttr(b.getNamedAttr(
                                  "nn.name", b.getStringAttr("quantized"))),
                              main.getLoc());
    vector = main.getArgument(place);
  }
  for (const QuantizableProduct &product : products) {
    const ProductScales *row = table.find(product.node);
    if (!row || row->isWide) {
      remark::missed(
          product.op->getLoc(),
          remark::RemarkOpts::name("NotQuantized").category("quantization"))
          << remark::add(row && row->ofRows
                             ? "a convolution has no scales of rows; "
                               "--calibrate finds one for its whole input"
                             : "the table of scales keeps it wide");
      continue;
    }
    if (failed(scales.check(product, *row)))
      return failure();
    if (switches) {
      NNBuilder b(main.getLoc(), &main.front(), main.front().begin());
      int64_t index = row - table.rows.data();
      Value on = SliceOp::create(b, vector, ArrayRef<int64_t>{index},
                                 ArrayRef<int64_t>{1}, ArrayRef<int64_t>{1});
      on = b.reshape(on, {});
      condition = GreaterOp::create(b, on, b.scalarLike(on, 0));
    }
    quantize(product, *row);
  }
  eraseDead(main.getBody().front());
  return success();
}

LogicalResult frit::quantizeProducts(ModuleOp module, const ScaleTable &table) {
  return ProductQuantizer(module, table).run(/*switches=*/false);
}

LogicalResult frit::switchProducts(ModuleOp module, const ScaleTable &table) {
  return ProductQuantizer(module, table).run(/*switches=*/true);
}
