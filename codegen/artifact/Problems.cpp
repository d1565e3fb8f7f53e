//===- Problems.cpp - Tables of gemms, convs, attentions and tensor maps --===//

#include "codegen/artifact/Problems.h"

using namespace mlir;
using namespace frit;
using namespace frit::artifact;

static Compute computeOf(Type t, bool tf32) {
  if (t.isF32())
    return tf32 ? Compute::tf32 : Compute::f32;
  if (t.isF64())
    return Compute::f64;
  return isa<FloatType>(t) ? Compute::f16 : Compute::i32;
}

static Type elementOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

static ArrayRef<int64_t> shapeOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getShape();
}

Gemm artifact::problemOf(plan::GemmOp op) {
  Gemm g;
  g.m = op.getM();
  g.n = op.getN();
  g.k = op.getK();
  g.batch = op.getBatch();
  g.lda = op.getLd()[0];
  g.ldb = op.getLd()[1];
  g.ldd = op.getLd()[2];
  g.strideA = op.getBatchStrides()[0];
  g.strideB = op.getBatchStrides()[1];
  g.strideD = op.getBatchStrides()[2];
  g.transposeA = op.getTransposeA();
  g.transposeB = op.getTransposeB();
  g.typeA = plan::dtypeOf(elementOf(op.getInputs()[0]));
  g.typeB = plan::dtypeOf(elementOf(op.getInputs()[1]));
  g.typeD = plan::dtypeOf(elementOf(op.getOutputs()[0]));
  g.compute = computeOf(elementOf(op.getInputs()[0]), op.getTf32());
  g.hasBias = op.getBias();
  g.hasResidual = op.getResidual();
  g.activation = op.getActivation();
  g.algorithm = uint32_t(op.getAlgorithm().value_or(0));
  if (op.getWorkspace())
    g.workspaceBytes = plan::byteSize(op.getWorkspace().getType());
  return g;
}

Conv artifact::problemOf(plan::ConvOp op) {
  Conv c;
  c.pass = ConvPass(op.getPass());
  Value operands[] = {op.getInputs()[0], op.getInputs()[1], op.getOutputs()[0]};
  // Indices of x, w and y in `operands`.
  auto [atX, atW, atY] = c.pass == ConvPass::gradInput    ? std::tuple(2, 1, 0)
                         : c.pass == ConvPass::gradWeight ? std::tuple(0, 2, 1)
                                                          : std::tuple(0, 1, 2);
  ArrayRef<int64_t> x = shapeOf(operands[atX]), w = shapeOf(operands[atW]);
  ArrayRef<int64_t> y = shapeOf(operands[atY]);
  bool last = op.getChannelsLast();
  // Returns dimension i of n, c, h, w for either layout. A 1-d convolution has
  // w only, and h = 1. The rows of a matrix are pixels of one row.
  auto at = [&](ArrayRef<int64_t> shape, unsigned i) -> int64_t {
    if (shape.size() == 3 && i == 2)
      return 1;
    SmallVector<int64_t> sizes(shape);
    if (shape.size() == 2)
      sizes = {shape[0], 1, 1, shape[1]};
    if (last)
      std::rotate(sizes.begin() + 1, sizes.end() - 1, sizes.end());
    return i == 3 ? sizes.back() : sizes[i];
  };
  c.n = at(x, 0);
  c.c = at(x, 1);
  c.h = at(x, 2);
  c.w = at(x, 3);
  c.k = at(w, 0);
  c.r = at(w, 2);
  c.s = at(w, 3);
  c.p = at(y, 2);
  c.q = at(y, 3);
  c.strideH = op.getStrides()[0];
  c.strideW = op.getStrides()[1];
  c.dilationH = op.getDilations()[0];
  c.dilationW = op.getDilations()[1];
  c.padTop = op.getPads()[0];
  c.padLeft = op.getPads()[1];
  c.padBottom = op.getPads()[2];
  c.padRight = op.getPads()[3];
  c.groups = op.getGroup();
  c.channelsLast = last;
  c.type = plan::dtypeOf(elementOf(op.getInputs()[0]));
  c.compute = computeOf(elementOf(op.getInputs()[0]), op.getTf32());
  c.hasBias = op.getBias();
  c.hasResidual = op.getResidual();
  c.activation = op.getActivation();
  c.algorithm = uint32_t(op.getAlgorithm().value_or(0));
  c.typeW = plan::dtypeOf(elementOf(operands[atW]));
  c.typeY = plan::dtypeOf(elementOf(operands[atY]));
  c.quantized = op.getQuantized();
  c.hasOffset = op.getOffset();
  c.hasZeroY = op.getYZero();
  if (op.getScale())
    c.scales = ShapedType::getNumElements(
        shapeOf(op.getInputs()[op.getOffset() ? 5 : 4]));
  if (op.getWorkspace())
    c.workspaceBytes = plan::byteSize(op.getWorkspace().getType());
  return c;
}

static StridedOperand operand(plan::OperandAttr attr) {
  StridedOperand entry;
  entry.argument = attr.getArgument();
  entry.offset = attr.getOffset();
  llvm::copy(attr.getStrides().asArrayRef(), entry.strides);
  return entry;
}

Attention artifact::problemOf(plan::AttentionOp op) {
  Attention a;
  a.batch = op.getBatch();
  a.heads = op.getHeads();
  a.groups = op.getGroups();
  a.queries = op.getQueries();
  a.keys = op.getKeys();
  a.size = op.getSize();
  a.valueSize = op.getValueSize();
  a.q = operand(op.getQ());
  a.k = operand(op.getK());
  a.v = operand(op.getV());
  a.y = operand(op.getY());
  if (op.isGradient()) {
    a.gradient = 1;
    a.dy = operand(*op.getDy());
    a.stats = operand(*op.getStats());
    a.dq = operand(*op.getDq());
    a.dk = operand(*op.getDk());
    a.dv = operand(*op.getDv());
  }
  a.type = plan::dtypeOf(elementOf(op.getOutputs()[0]));
  if (std::optional<plan::OperandAttr> mask = op.getMask()) {
    a.hasMask = 1;
    a.mask = operand(*mask);
    a.typeMask = plan::dtypeOf(elementOf(op.getInputs()[a.mask.argument]));
  }
  a.inputs = op.getInputs().size();
  a.scale = op.getScale().convertToFloat();
  a.causal = op.getCausal();
  a.algorithm = uint32_t(op.getAlgorithm().value_or(0));
  if (op.getWorkspace())
    a.workspaceBytes = plan::byteSize(op.getWorkspace().getType());
  return a;
}
