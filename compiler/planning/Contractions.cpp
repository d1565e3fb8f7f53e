//===- Contractions.cpp - Library calls of a plan -------------------------===//

#include "compiler/planning/Contractions.h"

#include "dialects/nn/ContractionInfo.h"
#include "dialects/nn/GradientInfo.h"
#include "dialects/nn/StridedView.h"
#include "frit/artifact.h"

using namespace mlir;
using namespace frit;

/// Returns the operands of a contraction's fusion in the library's order; empty
/// for other fusions.
static SmallVector<Value> operandsOf(nn::FusionOp fusion) {
  auto gather = [](Value a, Value b, nn::EpilogueInfo &epilogue) {
    SmallVector<Value> values = {a, b};
    if (nn::ConvOp addend = epilogue.addend)
      llvm::append_values(values, addend.getX(), addend.getW());
    for (Value value :
         {epilogue.bias, epilogue.residual, epilogue.moments, epilogue.column})
      if (value)
        values.push_back(value);
    return values;
  };
  if (auto gemm = nn::describeGemm(fusion))
    return gather(gemm->a, gemm->b, *gemm);
  if (auto conv = nn::describeConvolution(fusion))
    return gather(conv->x, conv->w, *conv);
  if (auto gradient = nn::describeConvGradient(fusion))
    return {gradient->a, gradient->b};
  if (auto chain = nn::describeConvB2b(fusion)) {
    SmallVector<Value> values =
        gather(chain->first.x, chain->first.w, chain->first);
    for (Value value : {chain->last.w, chain->last.bias, chain->last.residual})
      if (value)
        values.push_back(value);
    return values;
  }
  return {};
}

void planning::orderContractionInputs(nn::FusionOp fusion) {
  Block &block = fusion.getBody().front();
  unsigned count = block.getNumArguments();
  SmallVector<Value> operands = operandsOf(fusion), inputs;
  if (operands.empty())
    return;
  // An argument with two roles becomes two arguments.
  for (Value operand : operands) {
    auto old = cast<BlockArgument>(operand);
    BlockArgument own = block.addArgument(old.getType(), old.getLoc());
    inputs.push_back(fusion.getInputs()[old.getArgNumber()]);
    bool again = llvm::count(operands, operand) > 1;
    if (!again) {
      old.replaceAllUsesWith(own);
      continue;
    }
    OpOperand *first = nullptr;
    for (Operation &op : block)
      for (OpOperand &use : op.getOpOperands())
        if (!first && use.get() == operand)
          first = &use;
    if (first)
      first->set(own);
  }
  block.eraseArguments(0, count);
  fusion.getInputsMutable().assign(inputs);
}

/// Returns the workspace of a convolution's gradient. The library's fast
/// engines convert operands to the layout that they want, and sum parts of the
/// result in it: give them as much as the operands have, up to eight times what
/// other calls get.
static int64_t gradientWorkspace(ValueRange inputs, ValueRange outputs,
                                 int64_t usual) {
  int64_t bytes = 0;
  for (ValueRange values : {inputs, outputs})
    for (Value value : values)
      bytes += plan::byteSize(value.getType());
  return std::clamp(int64_t(llvm::alignTo(bytes, 256)), usual, 8 * usual);
}

/// Returns the bytes of the intermediate results of an attention's gradient,
/// whose operands have 16 bits. Where heads share keys and values, the library
/// computes dk and dv of each head before it sums them.
static int64_t gradientScratch(const nn::AttentionGradientInfo &info) {
  artifact::Attention problem;
  problem.batch = info.batch;
  problem.heads = info.heads;
  problem.queries = info.queries;
  problem.size = info.size;
  int64_t bytes = artifact::AttentionScratch(problem).bytes;
  if (info.groups != info.heads)
    bytes += 2 * info.batch * info.heads * info.keys * info.size * 2;
  return bytes;
}

LogicalResult planning::buildContraction(ImplicitLocOpBuilder &b,
                                         nn::FusionOp fusion,
                                         int64_t algorithmNumber,
                                         ValueRange inputs, ValueRange outputs,
                                         FlatSymbolRefAttr fallback,
                                         int64_t workspaceBytes) {
  auto gradient = nn::describeConvGradient(fusion);
  if (gradient && workspaceBytes)
    workspaceBytes = gradientWorkspace(inputs, outputs, workspaceBytes);
  auto attentionGradient = nn::describeAttentionGradient(fusion);
  if (attentionGradient && workspaceBytes)
    workspaceBytes += gradientScratch(*attentionGradient);
  Value workspace;
  if (workspaceBytes) {
    auto type = MemRefType::get({workspaceBytes}, b.getI8Type());
    workspace = plan::BufferOp::create(b, type, plan::Space::arena, nullptr,
                                       nullptr, nullptr);
  }
  auto flag = [&](Value present) {
    return present ? b.getUnitAttr() : UnitAttr();
  };
  auto unit = [&](bool set) { return set ? b.getUnitAttr() : UnitAttr(); };
  auto integer = [&](int64_t v) { return b.getI64IntegerAttr(v); };
  auto list = [&](ArrayRef<int64_t> v) { return b.getDenseI64ArrayAttr(v); };
  auto activation = [&](const nn::EpilogueInfo &info) {
    return plan::ActivationAttr::get(b.getContext(), info.activation);
  };

  IntegerAttr algorithm =
      algorithmNumber ? integer(algorithmNumber) : IntegerAttr();

  if (gradient) {
    auto pass = gradient->ofWeight ? plan::ConvPass::grad_weight
                                   : plan::ConvPass::grad_input;
    plan::ConvOp::create(
        b, fallback, inputs, outputs, workspace, list(gradient->strides),
        list(gradient->pads), list(gradient->dilations),
        integer(gradient->groups), unit(gradient->channelsLast),
        unit(gradient->tf32), /*bias=*/UnitAttr(), /*residual=*/UnitAttr(),
        plan::ActivationAttr::get(b.getContext(), Activation::none),
        plan::ConvPassAttr::get(b.getContext(), pass), algorithm);
    return success();
  }
  auto gemm = nn::describeGemm(fusion);
  if (gemm) {
    plan::GemmOp::create(
        b, fallback, inputs, outputs, workspace, integer(gemm->m),
        integer(gemm->n), integer(gemm->k), integer(gemm->batch),
        list({gemm->lda, gemm->ldb, gemm->ldd}),
        list({gemm->strideA, gemm->strideB, gemm->strideD}),
        unit(gemm->transposeA), unit(gemm->transposeB), gemm->op.getTf32Attr(),
        flag(gemm->bias), flag(gemm->residual), activation(*gemm), algorithm);
    return success();
  }
  auto place = [&](const nn::AttentionOperand &operand) {
    unsigned argument = operand.argument ? operand.argument.getArgNumber()
                                         : unsigned(inputs.size());
    return plan::OperandAttr::get(b.getContext(), argument, operand.offset,
                                  list(operand.strides));
  };
  if (attentionGradient) {
    const nn::AttentionGradientInfo &info = *attentionGradient;
    nn::AttentionGradOp op = info.op;
    plan::AttentionOp::create(
        b, fallback, inputs, outputs, workspace, integer(info.batch),
        integer(info.heads), integer(info.groups), integer(info.queries),
        integer(info.keys), integer(info.size), integer(info.size),
        op.getScaleAttr(), op.getCausalAttr(), place(info.q), place(info.k),
        place(info.v), /*mask=*/nullptr, place(info.y), place(info.dy),
        place(info.stats), place(info.dq), place(info.dk), place(info.dv),
        algorithm);
    return success();
  }
  if (auto attention = nn::describeAttention(fusion)) {
    plan::AttentionOp::create(
        b, fallback, inputs, outputs, workspace, integer(attention->batch),
        integer(attention->heads), integer(attention->groups),
        integer(attention->queries), integer(attention->keys),
        integer(attention->size), integer(attention->valueSize),
        attention->op.getScaleAttr(), attention->op.getCausalAttr(),
        place(attention->q), place(attention->k), place(attention->v),
        attention->mask ? place(*attention->mask) : plan::OperandAttr(),
        place(attention->result), /*dy=*/nullptr, /*stats=*/nullptr,
        /*dq=*/nullptr, /*dk=*/nullptr, /*dv=*/nullptr, algorithm);
    return success();
  }
  auto conv = nn::describeConvolution(fusion);
  if (!conv)
    return fusion.emitError("is scheduled for a library, but ")
           << conv.reason();
  plan::ConvOp::create(
      b, fallback, inputs, outputs, workspace,
      list({conv->strideH, conv->strideW}),
      list({conv->padTop, conv->padLeft, conv->padBottom, conv->padRight}),
      list({conv->dilationH, conv->dilationW}), integer(conv->groups),
      unit(conv->channelsLast), conv->op.getTf32Attr(), flag(conv->bias),
      flag(conv->residual), activation(*conv),
      plan::ConvPassAttr::get(b.getContext(), plan::ConvPass::forward),
      algorithm);
  return success();
}

int64_t planning::countFlops(nn::FusionOp fusion) {
  int64_t flops = 0;
  for (Operation &op : fusion.getBody().front().without_terminator())
    flops += nn::countFlops(&op);
  return flops;
}
