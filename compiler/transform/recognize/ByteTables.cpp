//===- ByteTables.cpp - Tabulate functions of bytes -----------------------===//
//
//   %x = nn.mul nn.cast(nn.sub(nn.cast %q : ui8, 117)), %s
//   %y = nn.cast nn.min(nn.max(nn.add(nn.round(nn.div(
//            nn.mul(%x, nn.hard_sigmoid %x), %t), 3), 0), 255)
// ==>
//   %a = nn.constant dense<[0, 1, 2, ... 255]> : tensor<256xui8>
//   %t = the same function of %a                         moves to @prepare
//   %y = nn.gather %t, nn.cast %q
//
// Models of quantized activations compute most of their elementwise functions
// from one byte to another. There are 256 results; looking them up is faster
// than to compute each. Functions of few operators, and of few elements, stay.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/ByteTables.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"

#include "mlir/IR/IRMapping.h"

namespace frit {
#define GEN_PASS_DEF_BYTETABLES
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Operators of the smallest function that is tabulated: a requantization has
/// 8, of which a loop computes several elements at once.
static constexpr size_t kFewest = 10;
/// The most operators of a function.
static constexpr size_t kMost = 64;
/// The fewest elements: each costs less than an entry of the table.
static constexpr int64_t kFewestElements = 1024;

static bool isBytes(Value value) {
  return tensorType(value).getElementType().isInteger(8);
}

namespace {
/// The elementwise operators between a tensor of bytes and a value.
struct ByteFunction {
  Value source;
  llvm::SetVector<Operation *> ops; ///< operands first
};
} // namespace

/// Adds the operators that compute `value` to `function`. Returns false if it
/// depends on anything but one tensor of bytes and numbers that are known when
/// the model opens.
static bool collect(Value value, ArrayRef<int64_t> shape,
                    ByteFunction &function) {
  if (value == function.source)
    return true;
  Operation *op = value.getDefiningOp();
  if (op && function.ops.contains(op))
    return true;
  ByteFunction before = function;
  bool isInner = op && isa<ElementwiseOp>(op) && op->getNumResults() == 1 &&
                 shapeOf(value) == shape && function.ops.size() < kMost;
  for (Value operand : isInner ? op->getOperands() : ValueRange()) {
    bool isNumber = tensorType(operand).hasStaticShape() &&
                    tensorType(operand).getNumElements() == 1 &&
                    dependsOnConstants(operand);
    isInner = isInner && (isNumber || collect(operand, shape, function));
  }
  if (isInner) {
    function.ops.insert(op);
    return true;
  }
  // What computes these bytes is not a function of others.
  function = std::move(before);
  if (function.source || !isBytes(value) || shapeOf(value) != shape)
    return false;
  function.source = value;
  return true;
}

/// Creates the table of a function: its results for bytes from the lowest on.
static Value createTable(NNBuilder &b, const ByteFunction &function,
                         Value result) {
  auto type = tensorType(function.source);
  auto ofBytes = RankedTensorType::get({256}, type.getElementType());
  bool isUnsigned = type.getElementType().isUnsignedInteger();
  SmallVector<int8_t> bytes;
  for (int i = 0; i < 256; ++i)
    bytes.push_back(int8_t(isUnsigned ? i : i - 128));
  Value all = ConstantOp::create(
      b,
      DenseElementsAttr::getFromRawBuffer(
          ofBytes, ArrayRef(reinterpret_cast<const char *>(bytes.data()), 256)),
      StringAttr());
  IRMapping map;
  map.map(function.source, all);
  for (Operation *op : function.ops) {
    for (Value operand : op->getOperands())
      if (!map.contains(operand))
        map.map(operand, b.reshape(operand, {}));
    Operation *copy = b.clone(*op, map);
    auto element = resultType(op).getElementType();
    copy->getResult(0).setType(RankedTensorType::get({256}, element));
  }
  return map.lookup(result);
}

namespace {
class ByteTables
    : public TargetRewritePass<frit::impl::ByteTablesBase<ByteTables>,
                               ByteTablesRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override;
};
} // namespace

void ByteTables::run(Block &block) {
  // Later casts first: they contain earlier ones.
  SmallVector<CastOp> casts(block.getOps<CastOp>());
  for (CastOp cast : llvm::reverse(casts)) {
    auto type = resultType(cast);
    if (cast->use_empty() || !isBytes(cast.getY()) || !type.hasStaticShape() ||
        type.getNumElements() < kFewestElements)
      continue;
    ByteFunction function;
    if (!collect(cast.getY(), type.getShape(), function) || !function.source ||
        function.ops.size() < kFewest)
      continue;
    NNBuilder b(cast.getLoc(), cast);
    b.setLoc(fuseLocations(function.ops.getArrayRef()));
    Value table = createTable(b, function, cast.getY());
    Value index = b.cast(function.source, b.getI32Type());
    if (!tensorType(function.source).getElementType().isUnsignedInteger())
      index = b.add(index, b.scalarLike(index, 128));
    Value y = GatherOp::create(b, table, index, /*axis=*/0);
    cast.getY().replaceAllUsesWith(y);
  }
  eraseDead(block);
}

std::unique_ptr<Pass> frit::createByteTables(const Target &target) {
  return std::make_unique<ByteTables>(target);
}
