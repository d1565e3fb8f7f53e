//===- Calls.cpp - What steps without a kernel compute --------------------===//

#include "compiler/report/Calls.h"

#include "dialects/plan/Plan.h"

#include "frit/host_arch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace frit;
using namespace frit::report;

/// Formats a shape and an element type: "16x8xf32".
static std::string typeText(ArrayRef<int64_t> shape, Type element) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t dim : shape)
    os << dim << "x";
  os << element;
  return text;
}

std::string report::typeText(ShapedType type) {
  return ::typeText(type.getShape(), type.getElementType());
}

static std::string sizes(ArrayRef<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : "×") + std::to_string(number);
  return text;
}

static CallOperand operandOf(StringRef role, Value buffer) {
  return {role.str(), report::typeText(cast<ShapedType>(buffer.getType())), ""};
}

static Type elementOf(Value buffer) {
  return cast<ShapedType>(buffer.getType()).getElementType();
}

static bool isHost(StringRef arch) { return findHostArch(arch); }

/// Returns who runs a call and by which algorithm.
template <class Op>
static std::vector<Fact> callFacts(Op op, StringRef arch, StringRef library) {
  if (isHost(arch))
    return {{"computed by", "the runtime's kernel for CPUs"}};
  std::string by = library.str();
  if (std::optional<StringRef> fallback = op.getFallback())
    by += ("; if it declines, by kernel " + *fallback).str();
  int64_t algorithm = op.getAlgorithm().value_or(0);
  return {
      {"computed by", by},
      {"algorithm",
       algorithm
           ? llvm::formatv("{0}, the fastest that was timed", algorithm).str()
           : "chosen by the library when the model is opened"}};
}

static Fact precisionOf(Type element, bool tf32) {
  std::string text = llvm::formatv("{0} operands, ", element);
  if (element.isInteger())
    text += "i32 sums";
  else if (element.isF64())
    text += "f64 sums";
  else
    text += tf32 ? "products rounded to tf32, f32 sums" : "f32 sums";
  return {"precision", text};
}

/// Adds what a contraction's `inputs` from the third on are, and returns its
/// formula around `product`.
template <class Op>
static std::string addEpilogue(Call &call, Op op, const std::string &product) {
  std::string sum = product;
  size_t next = 2;
  for (auto [has, name] : {std::pair(op.getBias(), "bias"),
                           std::pair(op.getResidual(), "residual")})
    if (has) {
      sum += std::string(" + ") + name;
      call.fused.push_back(name);
      call.operands.push_back(operandOf(name, op.getInputs()[next++]));
    }
  if (op.getActivation() == Activation::none)
    return sum;
  std::string name(kActivationNames[size_t(op.getActivation())]);
  call.fused.push_back(name);
  return name + "(" + sum + ")";
}

static Call describeGemm(plan::GemmOp op, StringRef arch) {
  Call call;
  int64_t m = op.getM(), n = op.getN(), k = op.getK(), batch = op.getBatch();
  auto matrix = [&](StringRef role, Value buffer, int64_t rows, int64_t columns,
                    bool isTransposed, int64_t stride) {
    SmallVector<int64_t> shape;
    if (batch > 1 && stride)
      shape.push_back(batch);
    shape.append({rows, columns});
    CallOperand operand{role.str(), typeText(shape, elementOf(buffer)), ""};
    if (isTransposed)
      operand.note = "stored as " + sizes({columns, rows});
    if (batch > 1 && !stride)
      operand.note += (operand.note.empty() ? "" : ", ") +
                      std::string("one for all products");
    return operand;
  };
  ArrayRef<int64_t> strides = op.getBatchStrides();
  Value a = op.getInputs()[0], b = op.getInputs()[1];
  call.operands = {matrix("A", a, m, k, op.getTransposeA(), strides[0]),
                   matrix("B", b, k, n, op.getTransposeB(), strides[1])};
  call.results = {matrix("D", op.getOutputs()[0], m, n, false, strides[2])};
  call.formula = "D = " + addEpilogue(call, op, "A·B");
  call.facts = callFacts(op, arch, "cuBLASLt");
  call.facts.push_back(precisionOf(elementOf(a), op.getTf32()));
  if (batch > 1)
    call.facts.push_back({"batch", std::to_string(batch) + " products"});
  call.flops = 2 * batch * m * n * k;
  return call;
}

/// As addEpilogue, for a quantized convolution.
static std::string addQuantization(Call &call, plan::ConvOp op) {
  size_t next = 2;
  auto add = [&](bool has, StringRef name) {
    if (has)
      call.operands.push_back(operandOf(name, op.getInputs()[next++]));
  };
  add(true, "x_zero");
  add(true, "w_zero");
  add(op.getOffset(), "offset");
  add(op.getScale(), "scale");
  add(op.getBias(), "bias");
  add(op.getYZero(), "y_zero");
  std::string y = "conv(x - x_zero, w - w_zero)";
  if (op.getOffset())
    y += " + offset";
  if (!op.getScale())
    return y;
  y = (op.getOffset() ? "(" + y + ")" : y) + " · scale";
  call.fused.push_back("scale");
  if (op.getBias()) {
    y += " + bias";
    call.fused.push_back("bias");
  }
  if (op.getActivation() != Activation::none) {
    y = "relu(" + y + ")";
    call.fused.push_back("relu");
  }
  if (op.getYZero()) {
    y = "round(" + y + ") + y_zero";
    call.fused.push_back("quantization");
  }
  return y;
}

static Call describeConv(plan::ConvOp op, StringRef arch) {
  Call call;
  Value first = op.getInputs()[0], second = op.getInputs()[1];
  Value result = op.getOutputs()[0];
  // The forward pass has a product per element of y and of a filter.
  Value y = result, w = second;
  switch (op.getPass()) {
  case plan::ConvPass::forward:
    call.operands = {operandOf("x", first), operandOf("w", second)};
    call.results = {operandOf("y", result)};
    call.formula =
        "y = " + (op.getQuantized() ? addQuantization(call, op)
                                    : addEpilogue(call, op, "conv(x, w)"));
    break;
  case plan::ConvPass::grad_input:
    call.operands = {operandOf("dy", first), operandOf("w", second)};
    call.results = {operandOf("dx", result)};
    call.formula = "dx = gradient of conv(x, w) for x";
    y = first;
    break;
  case plan::ConvPass::grad_weight:
    call.operands = {operandOf("x", first), operandOf("dy", second)};
    call.results = {operandOf("dw", result)};
    call.formula = "dw = gradient of conv(x, w) for w";
    y = second;
    w = result;
    break;
  }
  call.facts = callFacts(op, arch, "cuDNN");
  call.facts.push_back(precisionOf(elementOf(first), op.getTf32()));
  call.facts.push_back({"layout", op.getChannelsLast()
                                      ? "channels last: x is n×h×w×c"
                                      : "channels first: x is n×c×h×w"});
  call.facts.push_back({"strides", sizes(op.getStrides())});
  ArrayRef<int64_t> pads = op.getPads();
  if (llvm::any_of(pads, [](int64_t pad) { return pad != 0; }))
    call.facts.push_back(
        {"padding", llvm::formatv("top {0}, left {1}, bottom {2}, right {3}",
                                  pads[0], pads[1], pads[2], pads[3])});
  if (llvm::any_of(op.getDilations(), [](int64_t step) { return step != 1; }))
    call.facts.push_back({"dilations", sizes(op.getDilations())});
  if (op.getGroup() != 1)
    call.facts.push_back({"groups", std::to_string(op.getGroup())});
  auto wType = cast<ShapedType>(w.getType());
  call.flops = 2 * cast<ShapedType>(y.getType()).getNumElements() *
               (wType.getNumElements() / wType.getDimSize(0));
  return call;
}

static Call describeAttention(plan::AttentionOp op, StringRef arch) {
  Call call;
  int64_t batch = op.getBatch(), heads = op.getHeads(), groups = op.getGroups();
  int64_t queries = op.getQueries(), keys = op.getKeys();
  int64_t size = op.getSize(), valueSize = op.getValueSize();
  SmallVector<Value> arguments(op.getInputs());
  arguments.append(op.getOutputs().begin(), op.getOutputs().end());
  auto view = [&](StringRef role, plan::OperandAttr operand,
                  ArrayRef<int64_t> shape) {
    Value buffer = arguments[operand.getArgument()];
    CallOperand result{role.str(), typeText(shape, elementOf(buffer)), ""};
    auto type = cast<ShapedType>(buffer.getType());
    int64_t elements = 1;
    for (int64_t dim : shape)
      elements *= dim;
    if (int64_t stored = type.getNumElements(); stored != elements)
      result.note = (stored > elements ? "a part of " : "broadcast from ") +
                    report::typeText(type);
    return result;
  };
  SmallVector<int64_t> q = {batch, heads, queries, size};
  SmallVector<int64_t> k = {batch, groups, keys, size};
  SmallVector<int64_t> v = {batch, groups, keys, valueSize};
  SmallVector<int64_t> y = {batch, heads, queries, valueSize};
  call.operands = {view("q", op.getQ(), q), view("k", op.getK(), k),
                   view("v", op.getV(), v)};
  std::string scale;
  llvm::raw_string_ostream(scale)
      << llvm::format("%g", op.getScale().convertToFloat());
  call.fused = {"scale " + scale};
  std::string scores = "q·kᵀ·" + scale;
  if (plan::OperandAttr mask = op.getMaskAttr()) {
    call.operands.push_back(view("mask", mask, {batch, heads, queries, keys}));
    call.fused.push_back("mask");
    scores += " + mask";
  }
  if (op.getCausal())
    call.fused.push_back("causal mask");
  call.fused.push_back("softmax");
  std::string formula = "softmax(" + scores + ")·v";
  if (op.isGradient()) {
    call.operands.push_back(view("y", op.getY(), y));
    call.operands.push_back(view("dy", *op.getDy(), y));
    call.operands.push_back(
        view("stats", *op.getStats(), {batch, heads, queries}));
    call.results = {view("dq", *op.getDq(), q), view("dk", *op.getDk(), k),
                    view("dv", *op.getDv(), v)};
    call.formula = "dq, dk, dv = gradient of " + formula;
  } else {
    call.results = {view("y", op.getY(), y)};
    call.formula = "y = " + formula;
  }
  call.facts = callFacts(op, arch, "cuDNN");
  call.facts.push_back(
      precisionOf(elementOf(arguments[op.getQ().getArgument()]), false));
  call.facts.push_back(
      {"heads",
       groups == heads
           ? std::to_string(heads)
           : llvm::formatv("{0}, which share {1} of k and v", heads, groups)
                 .str()});
  call.flops = 2 * batch * heads * queries * keys * (size + valueSize);
  // Five products instead of two.
  if (op.isGradient())
    call.flops = call.flops / 2 * 5;
  if (op.getCausal())
    call.flops /= 2;
  return call;
}

static Call describeCollective(plan::CollectiveOp op, StringRef arch) {
  Call call;
  call.formula = std::string("buffer = ") + traitsOf(op.getCollective()).result;
  call.operands = {operandOf("buffer", op.getBuffer())};
  call.facts = {
      {"computed by",
       isHost(arch) ? "the runtime's exchange between processes" : "NCCL"},
      {"runs", "beside the steps after it, until a step awaits the buffer"}};
  return call;
}

std::optional<Call> report::describeCall(Operation *step, StringRef arch) {
  return llvm::TypeSwitch<Operation *, std::optional<Call>>(step)
      .Case([&](plan::GemmOp op) { return describeGemm(op, arch); })
      .Case([&](plan::ConvOp op) { return describeConv(op, arch); })
      .Case([&](plan::AttentionOp op) { return describeAttention(op, arch); })
      .Case([&](plan::CollectiveOp op) { return describeCollective(op, arch); })
      .Case([](plan::AwaitOp op) {
        Call call;
        call.formula = "waits for the exchange of its buffers";
        for (Value buffer : op.getBuffers())
          call.operands.push_back(operandOf("buffer", buffer));
        return call;
      })
      .Case([](plan::GuardOp op) {
        Call call;
        call.formula = op.getWhen()
                           ? "runs its steps if the condition is true"
                           : "runs its steps if the condition is false";
        call.operands = {operandOf("condition", op.getCondition())};
        call.facts = {{"steps", std::to_string(plan::stepsOf(op).size())}};
        return call;
      })
      .Case([](plan::CopyOp op) {
        Call call;
        call.formula = "target = source, byte by byte";
        call.operands = {operandOf("source", op.getSource())};
        call.results = {operandOf("target", op.getTarget())};
        return call;
      })
      .Default(std::nullopt);
}
