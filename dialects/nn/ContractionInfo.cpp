//===- ContractionInfo.cpp - What a library would be asked for ---------------===//

#include "dialects/nn/ContractionInfo.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace frit::nn;

SmallVector<Value> ContractionInfo::operands() const {
  SmallVector<Value> values = {a, b};
  if (bias)
    values.push_back(bias);
  if (residual)
    values.push_back(residual);
  return values;
}

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

/// The stride of an operand's matrices over the result's batch dimensions: the
/// matrix's size where it has them all, 0 where it has none of them.
static std::optional<int64_t> batchStride(ArrayRef<int64_t> operand,
                                          ArrayRef<int64_t> batch,
                                          int64_t matrix) {
  int64_t own = product(operand);
  if (own == product(batch))
    return own == 1 ? 0 : matrix;
  return own == 1 ? std::optional<int64_t>(0) : std::nullopt;
}

/// Fills the sizes of a matmul.
static LogicalResult describeMatmul(MatmulOp op, ContractionInfo &info,
                                    std::string &why) {
  SmallVector<int64_t> a(shapeOf(op.getA())), b(shapeOf(op.getB()));
  if (a.size() == 1)
    a.insert(a.begin(), 1);
  if (b.size() == 1)
    b.push_back(1);
  info.transposeA = op.getTransposeA() && shapeOf(op.getA()).size() > 1;
  info.transposeB = op.getTransposeB() && shapeOf(op.getB()).size() > 1;
  info.ld[0] = a.back();
  info.ld[1] = b.back();
  info.m = a[a.size() - (info.transposeA ? 1 : 2)];
  info.k = a[a.size() - (info.transposeA ? 2 : 1)];
  info.n = b[b.size() - (info.transposeB ? 2 : 1)];
  info.ld[2] = info.n;

  ArrayRef<int64_t> batchA = ArrayRef(a).drop_back(2);
  ArrayRef<int64_t> batchB = ArrayRef(b).drop_back(2);
  auto batch = broadcastShapes({batchA, batchB});
  auto strideA = batchStride(batchA, *batch, info.m * info.k);
  auto strideB = batchStride(batchB, *batch, info.k * info.n);
  if (!strideA || !strideB) {
    why = "its batch dimensions broadcast both ways";
    return failure();
  }
  info.batch = product(*batch);
  info.strides[0] = *strideA;
  info.strides[1] = *strideB;
  info.strides[2] = info.batch == 1 ? 0 : info.m * info.n;
  // One matrix B for all of a batch is one taller product.
  if (info.batch > 1 && *strideB == 0 && *strideA && !info.transposeA) {
    info.m *= info.batch;
    info.batch = 1;
    info.strides[0] = info.strides[2] = 0;
  }
  return success();
}

/// Whether `value` adds one number per column of a matmul's result, or per
/// channel of a convolution's.
static bool isBias(Value value, Operation *contraction) {
  ArrayRef<int64_t> shape = shapeOf(value);
  ArrayRef<int64_t> result = shapeOf(contraction->getResult(0));
  size_t fromEnd = 1;
  auto conv = dyn_cast<ConvOp>(contraction);
  if (conv && !conv.getChannelsLast())
    fromEnd = result.size() - 1;
  if (!conv && shapeOf(contraction->getOperand(1)).size() == 1)
    return false;
  for (size_t i = 1; i <= shape.size(); ++i) {
    int64_t wanted = i == fromEnd ? result[result.size() - i] : 1;
    if (shape[shape.size() - i] != wanted)
      return false;
  }
  return shape.size() >= fromEnd;
}

static std::optional<Epilogue> activationOf(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Epilogue>>(op)
      .Case([](ReluOp) { return Epilogue::relu; })
      .Case([](SiluOp) { return Epilogue::silu; })
      .Case([](GeluOp gelu) {
        return gelu.getApproximate() == "tanh" ? Epilogue::geluTanh
                                               : Epilogue::gelu;
      })
      .Default(std::nullopt);
}

/// Takes `op`, which reads `last`, into the epilogue.
static LogicalResult extend(ContractionInfo &info, Value last, Operation *op,
                            std::string &why) {
  auto decline = [&](const Twine &reason) {
    why = reason.str();
    return failure();
  };
  if (info.activation != Epilogue::none)
    return decline("something follows its activation");
  if (op->getResult(0).getType() != last.getType())
    return decline("its epilogue changes shape or type");
  if (auto activation = activationOf(op)) {
    info.activation = *activation;
    return success();
  }
  auto add = dyn_cast<AddOp>(op);
  if (!add)
    return decline("'" + op->getName().getStringRef() + "' is no epilogue");
  if (add.getA() == add.getB())
    return decline("its result is added to itself");
  Value other = add.getA() == last ? add.getB() : add.getA();
  if (!info.bias && !info.residual && isBias(other, info.contraction)) {
    info.bias = other;
    return success();
  }
  if (!info.residual && other.getType() == last.getType()) {
    info.residual = other;
    return success();
  }
  return decline("it adds more than a bias and a residual");
}

/// The contraction alone.
static LogicalResult begin(Operation *op, ContractionInfo &info,
                           std::string &why) {
  info.contraction = op;
  info.a = op->getOperand(0);
  info.b = op->getOperand(1);
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return describeMatmul(matmul, info, why);
  auto conv = cast<ConvOp>(op);
  info.bias = conv.getBias();
  if (conv.getStrides().size() == 2)
    return success();
  why = "it does not have two spatial dimensions";
  return failure();
}

bool frit::nn::extendsContraction(ArrayRef<Operation *> fused,
                                  Operation *next) {
  ContractionInfo info;
  std::string why;
  if (!isa<MatmulOp, ConvOp>(fused.front()) ||
      failed(begin(fused.front(), info, why)))
    return false;
  Value last = fused.front()->getResult(0);
  for (Operation *op : fused.drop_front()) {
    if (failed(extend(info, last, op, why)))
      return false;
    last = op->getResult(0);
  }
  return succeeded(extend(info, last, next, why));
}

FailureOr<ContractionInfo> frit::nn::analyzeContraction(FusionOp fusion,
                                                        std::string *why) {
  std::string reason;
  auto decline = [&](StringRef text) -> FailureOr<ContractionInfo> {
    if (why)
      *why = text;
    return failure();
  };
  Operation *anchor = fusion.getAnchor();
  if (!anchor || !isa<MatmulOp, ConvOp>(anchor))
    return decline("it holds no matmul or conv");
  if (fusion.getNumResults() != 1)
    return decline("it has more than one result");
  ContractionInfo info;
  if (failed(begin(anchor, info, reason)))
    return decline(reason);
  Value last = anchor->getResult(0);
  Value yielded = fusion.getBody().front().getTerminator()->getOperand(0);
  size_t taken = 1;
  while (last != yielded) {
    if (!last.hasOneUse())
      return decline("its result is used more than once");
    Operation *user = *last.getUsers().begin();
    if (failed(extend(info, last, user, reason)))
      return decline(reason);
    last = user->getResult(0);
    ++taken;
  }
  auto operations = fusion.getBody().front().without_terminator();
  if (size_t(std::distance(operations.begin(), operations.end())) != taken)
    return decline("something precedes it");
  for (Value operand : info.operands())
    if (!isa<BlockArgument>(operand))
      return decline("an operand is computed in it");
  return info;
}

void frit::nn::orderContractionInputs(FusionOp fusion) {
  ContractionInfo info = *analyzeContraction(fusion);
  Block &block = fusion.getBody().front();
  unsigned count = block.getNumArguments();
  SmallVector<Value> inputs;
  // An input with two roles becomes two; each role's use gets its own argument.
  SmallVector<std::pair<Value, Value>> roles;
  for (Value operand : info.operands()) {
    auto argument = cast<BlockArgument>(operand);
    inputs.push_back(fusion.getInputs()[argument.getArgNumber()]);
    roles.push_back(
        {operand, block.addArgument(operand.getType(), operand.getLoc())});
  }
  auto rewire = [&](Operation *op, unsigned index, size_t role) {
    op->setOperand(index, roles[role].second);
  };
  rewire(info.contraction, 0, 0);
  rewire(info.contraction, 1, 1);
  for (size_t role = 2; role < roles.size(); ++role)
    for (Operation &op : block)
      for (OpOperand &use : op.getOpOperands())
        if (use.get() == roles[role].first)
          use.set(roles[role].second);
  block.eraseArguments(0, count);
  fusion.getInputsMutable().assign(inputs);
}
