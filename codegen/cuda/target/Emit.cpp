//===- Emit.cpp - Fusions as CUDA C++ -------------------------------------===//

#include "codegen/cuda/target/Emit.h"

#include "codegen/cuda/attention/EmitAttention.h"
#include "codegen/cuda/contraction/EmitContraction.h"
#include "dialects/nn/Lowering.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Bytes of a constant that a kernel has brought to the second-level cache
/// while it waits for those before it: scales and biases, not weights.
static constexpr int64_t kFetchedAhead = 16 << 10;

LinalgFusion::LinalgFusion(nn::FusionOp fusion)
    : mlirContext(fusion.getContext()) {
  OpBuilder builder(fusion.getContext());
  module = ModuleOp::create(fusion.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  Block &body = fusion.getBody().front();
  SmallVector<Type> types;
  for (Value argument : body.getArguments()) {
    types.push_back(nn::signlessType(argument.getType()));
    auto tensor = cast<RankedTensorType>(types.back());
    inputs.push_back(tensor.getElementType());
    bytes.push_back(
        ceilDiv(tensor.getNumElements() * tensor.getElementTypeBitWidth(), 8));
  }
  if (auto list =
          fusion->getAttrOfType<DenseI64ArrayAttr>("plan.constant_inputs"))
    llvm::append_range(constants, list.asArrayRef());
  auto function = func::FuncOp::create(builder, fusion.getLoc(), "fusion",
                                       builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  ImplicitLocOpBuilder b(fusion.getLoc(), OpBuilder::atBlockEnd(entry));
  values.map(body.getArguments(), entry->getArguments());
  for (Operation &op : body.without_terminator()) {
    b.setLoc(op.getLoc());
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    Value result = op.getResult(0);
    // A skeleton that takes a composite whole asks for no more than its type.
    if (isa<nn::CompositeOp>(op))
      values.map(result, tensor::EmptyOp::create(
                             b, nn::shapeOf(result),
                             nn::signlessType(
                                 nn::tensorType(result).getElementType())));
    else
      values.map(result, nn::lowerToLinalg(&op, b, operands));
  }
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(values.lookup(value));
}

//===----------------------------------------------------------------------===//
// Text shared by the skeletons' emitters
//===----------------------------------------------------------------------===//

std::string frit::cuda::parameterList(const LinalgFusion &lowered,
                                      bool asFields) {
  std::string text;
  auto add = [&](StringRef qualifier, Type element, StringRef name, size_t i) {
    text += asFields ? "  " : text.empty() ? "" : ", ";
    text += (qualifier + storageName(element) + " *" + name + Twine(i)).str();
    text += asFields ? ";\n" : "";
  };
  for (auto [i, element] : llvm::enumerate(lowered.inputElements()))
    add("const ", element, "x", i);
  for (auto [i, output] : llvm::enumerate(lowered.outputs()))
    add("", elementType(output), "y", i);
  return text;
}

std::string frit::cuda::argumentList(const LinalgFusion &lowered) {
  std::string text;
  for (size_t i = 0; i < lowered.inputElements().size(); ++i)
    text += (text.empty() ? "x" : ", x") + std::to_string(i);
  for (size_t i = 0; i < lowered.outputs().size(); ++i)
    text += (text.empty() ? "y" : ", y") + std::to_string(i);
  return text;
}

std::string frit::cuda::storeOutput(Printer &printer, Graph &graph,
                                    unsigned output, Type element, Node *node,
                                    StringRef offset) {
  std::string y = "y" + std::to_string(output);
  std::string value = printer.value(node);
  if (graph.lanes.width == 1) {
    if (storageName(element) == valueName(node->type))
      printer.line(y + "[" + offset + "] = " + value + ";");
    else
      printer.line("frit::store(" + y + "[" + offset + "], " + value + ");");
    return "";
  }
  // A vector that is only copied needs no second array, unless a phase before
  // has kept it lane by lane.
  std::string name = "out" + std::to_string(output);
  if (StringRef array = value;
      printer.isVectorLoad(node) && array.consume_back("[v]")) {
    name = array.str();
  } else {
    printer.before(valueName(node->type) + " " + name + "[" +
                   Twine(graph.lanes.width) + "];");
    printer.line(name + "[v] = " + value + ";");
  }
  if (graph.lanes.skewed)
    return ("frit::storeOwn(" + y + " + " + offset + ", " + name + ", own);")
        .str();
  return ("frit::storeVector(" + y + " + " + offset + ", " + name + ");").str();
}

std::string frit::cuda::storeOutputs(
    Printer &printer, Graph &graph, const LinalgFusion &lowered,
    ArrayRef<std::pair<unsigned, Node *>> outputs, StringRef offset) {
  printer.openLanes();
  std::string stores;
  for (auto [output, node] : outputs) {
    std::string store =
        storeOutput(printer, graph, output,
                    elementType(lowered.outputs()[output]), node, offset);
    stores += store.empty() ? "" : store + "\n";
  }
  printer.closeLanes();
  return printer.str(4) + indented(stores, 4);
}

std::string
frit::cuda::constantsText(StringRef type,
                          ArrayRef<std::pair<StringRef, int64_t>> constants) {
  std::string text = ("  static constexpr " + type + " ").str();
  for (auto [i, constant] : llvm::enumerate(constants))
    text += (i ? ", " : "") + constant.first.str() + " = " +
            (type == "bool" ? (constant.second ? "true" : "false")
                            : std::to_string(constant.second));
  return text + ";\n";
}

std::string frit::cuda::startText(const LinalgFusion &lowered) {
  // The next kernel may take its place as soon as every block of this one has
  // one; it waits there for this one's end.
  std::string text = "frit::pdlTrigger();\n";
  for (int64_t i : lowered.constantInputs())
    if (lowered.inputBytes(i) <= kFetchedAhead)
      text += "frit::prefetchL2(x" + std::to_string(i) + ", " +
              std::to_string(lowered.inputBytes(i)) + ");\n";
  return text;
}

std::string frit::cuda::kernelFunction(StringRef name,
                                       const LinalgFusion &lowered,
                                       int64_t threads, StringRef call,
                                       size_t mapCount, Waits waits,
                                       int64_t cluster, int64_t resident,
                                       StringRef scalars) {
  std::string parameters = parameterList(lowered);
  for (size_t i = 0; i < mapCount; ++i)
    parameters +=
        ", const __grid_constant__ frit::TensorMap m" + std::to_string(i);
  if (!scalars.empty())
    parameters += (", " + scalars).str();
  std::string body;
  if (waits == Waits::inFunction)
    body = startText(lowered) + "frit::pdlWait();\n";
  std::string blocks =
      cluster > 1 ? "__cluster_dims__(" + std::to_string(cluster) + ", 1, 1) "
                  : "";
  std::string bounds = std::to_string(threads);
  if (resident)
    bounds += ", " + std::to_string(resident);
  return ("extern \"C\" __global__ void " + blocks + "__launch_bounds__(" +
          bounds + ")\n" + name + "(" + parameters + ") {\n" +
          indented(body + call.str(), 2) + "}\n")
      .str();
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

FailureOr<KernelText> frit::cuda::emitKernel(nn::FusionOp fusion,
                                             StringRef name,
                                             const CudaTarget &target) {
  nn::ScheduleAttr schedule = fusion.getScheduleAttr();
  if (!schedule)
    schedule = target.schedule(fusion);
  LinalgFusion lowered(fusion);
  std::string reason;
  FailureOr<KernelText> text = failure();
  switch (schedule.getSkeleton()) {
  case nn::Skeleton::row:
    if (isa<nn::MergeMomentsOp>(fusion.getAnchor())) {
      text = emitMergeMoments(fusion, lowered, name, schedule);
      break;
    }
    text = emitRow(fusion, lowered, name, schedule, reason);
    break;
  case nn::Skeleton::transpose:
    text = emitTranspose(fusion, lowered, name, reason);
    break;
  case nn::Skeleton::gemm:
  case nn::Skeleton::conv:
  case nn::Skeleton::wgmma_gemm:
  case nn::Skeleton::wgmma_conv:
  case nn::Skeleton::conv_b2b:
    text = emitContraction(fusion, lowered, name, schedule, reason);
    break;
  case nn::Skeleton::depthwise:
    text = emitDepthwise(fusion, lowered, name, schedule, reason);
    break;
  case nn::Skeleton::attention:
    text = emitAttention(fusion, lowered, name, schedule, reason);
    break;
  default:
    text = emitMap(lowered, name, schedule, reason);
  }
  if (failed(text))
    return emitError(fusion.getLoc())
           << "has no CUDA kernel: " << reason << " (skeleton "
           << nn::stringifySkeleton(schedule.getSkeleton()) << ")";
  return text;
}
