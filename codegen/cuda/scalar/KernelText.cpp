//===- KernelText.cpp - A kernel as CUDA C++ ------------------------------===//

#include "codegen/cuda/scalar/KernelText.h"

#include "dialects/plan/Plan.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

artifact::TensorMap frit::cuda::tensorMap(unsigned argument, Type element,
                                          ArrayRef<int64_t> dims,
                                          ArrayRef<int64_t> strides,
                                          ArrayRef<int64_t> box) {
  artifact::TensorMap map;
  map.argument = argument;
  map.type = plan::dtypeOf(element);
  map.rank = uint32_t(dims.size());
  llvm::copy(dims, map.dims);
  llvm::copy(strides, map.strides);
  llvm::copy(box, map.box);
  std::fill_n(map.elementStrides, map.rank, 1);
  return map;
}

/// Maximum bytes of a constant that a kernel prefetches into L2 before the PDL
/// wait: scales and biases, not weights.
static constexpr int64_t kMostPrefetched = 16 << 10;

namespace {
/// A pointer to an input or output of a fusion: "const float", "x0".
struct Pointer {
  std::string type, name;
};
} // namespace

static SmallVector<Pointer> inputsOf(const LinalgFusion &lowered) {
  SmallVector<Pointer> pointers;
  for (auto [i, element] : llvm::enumerate(lowered.inputElements()))
    pointers.push_back(
        {("const " + storageName(element)).str(), "x" + std::to_string(i)});
  return pointers;
}

static SmallVector<Pointer> outputsOf(const LinalgFusion &lowered) {
  SmallVector<Pointer> pointers;
  for (auto [i, output] : llvm::enumerate(lowered.outputs()))
    pointers.push_back(
        {storageName(elementType(output)).str(), "y" + std::to_string(i)});
  return pointers;
}

static SmallVector<Pointer> pointersOf(const LinalgFusion &lowered) {
  SmallVector<Pointer> pointers = inputsOf(lowered);
  llvm::append_range(pointers, outputsOf(lowered));
  return pointers;
}

std::string frit::cuda::parameterList(const LinalgFusion &lowered,
                                      bool asFields) {
  std::string text;
  for (const Pointer &pointer : pointersOf(lowered)) {
    text += asFields ? "  " : text.empty() ? "" : ", ";
    text += pointer.type + " *" + pointer.name;
    text += asFields ? ";\n" : "";
  }
  return text;
}

std::string frit::cuda::argumentList(const LinalgFusion &lowered) {
  std::string text;
  for (const Pointer &pointer : pointersOf(lowered))
    text += (text.empty() ? "" : ", ") + pointer.name;
  return text;
}

std::string frit::cuda::storeOutput(Printer &printer, Graph &graph,
                                    unsigned output, Type element, Node *node,
                                    StringRef offset, StringRef condition,
                                    StringRef guard) {
  std::string y = "y" + std::to_string(output);
  // Two floats of 8 bits are rounded at a time, when they are stored.
  bool roundsLate =
      !guard.empty() && graph.lanes.width > 1 &&
      node->kind == Node::Kind::operation &&
      (node->form->name == "round.e4m3" || node->form->name == "round.e5m2");
  std::string store =
      guard.empty() ? "frit::storeVector(" : "frit::storeVectorIf(";
  if (roundsLate)
    store = node->form->name == "round.e4m3" ? "frit::storeE4m3If("
                                             : "frit::storeE5m2If(";
  // So are bytes, four at a time.
  StringRef codes = StringSwitch<StringRef>(node->kind == Node::Kind::operation
                                                ? node->form->name
                                                : "")
                        .Case("round.byte", "frit::storeCodesIf(")
                        .Case("round.fraction", "frit::storeFractionsIf(")
                        .Case("round.tiny", "frit::storeTinyIf(")
                        .Default("");
  bool roundsCodes = !guard.empty() && graph.lanes.width > 1 && !codes.empty();
  std::string range;
  if (roundsCodes) {
    store = codes;
    for (Node *limit : llvm::drop_begin(node->operands))
      range += ", " + printer.value(limit);
  }
  // The store itself rounds to 16 bits.
  bool isRounded = !guard.empty() && node->kind == Node::Kind::operation &&
                   ((node->form->name == "round.f16" && element.isF16()) ||
                    (node->form->name == "round.bf16" && element.isBF16()));
  if (roundsLate || roundsCodes || isRounded)
    node = node->operands[0];
  std::string value = printer.value(node);
  if (graph.lanes.width == 1) {
    if (!guard.empty())
      printer.line("if (" + guard + ")");
    if (storageName(element) == valueName(node->type))
      printer.line(condition + y + "[" + offset + "] = " + value + ";");
    else
      printer.line(condition + "frit::store(" + y + "[" + offset + "], " +
                   value + ");");
    return "";
  }
  // A vector that is only copied needs no second array, unless an earlier phase
  // keeps its lanes as separate values.
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
    return (condition + "frit::storeOwn(" + y + " + " + offset + ", " + name +
            ", own);")
        .str();
  std::string place = offset.empty() ? "to" : (y + " + " + offset).str();
  return (condition + store + guard + (guard.empty() ? "" : ", ") + place +
          ", " + name + range + ");")
      .str();
}

/// Returns the call that places the element `i` of an output.
static std::string placeText(const Destination &place, StringRef i) {
  std::string text = "frit::updatePlace<";
  for (int64_t size : {place.rows, place.capacity, place.inner})
    text += std::to_string(size) + ", ";
  return (text + std::to_string(place.each) + ">(" + i + ", x" +
          std::to_string(place.offsets) + ")")
      .str();
}

std::string
frit::cuda::storeOutputs(Printer &printer, Graph &graph,
                         const LinalgFusion &lowered,
                         ArrayRef<std::pair<unsigned, Node *>> outputs,
                         StringRef offset, StringRef guard) {
  printer.openLanes();
  std::string stores;
  for (auto [output, node] : outputs) {
    std::string place = offset.str(), condition;
    if (const auto &rows = lowered.destination(output)) {
      place = "at" + std::to_string(output);
      condition = "if (" + place + " >= 0) ";
      printer.before("const int64_t " + place + " = " +
                     placeText(*rows, offset) + ";");
    }
    std::string store = storeOutput(printer, graph, output,
                                    elementType(lowered.outputs()[output]),
                                    node, place, condition, guard);
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
  // The next kernel may start once every block of this one is running. It waits
  // in pdlWait() until this one has finished.
  std::string text = "frit::pdlTrigger();\n";
  for (int64_t i : lowered.constantInputs())
    if (lowered.inputBytes(i) <= kMostPrefetched)
      text += "frit::prefetchL2(x" + std::to_string(i) + ", " +
              std::to_string(lowered.inputBytes(i)) + ");\n";
  return text;
}

/// Returns the parameters of a launch that takes several sets of arguments,
/// "x0_0, x0_1, y0_0, y0_1" with their types. Sets `picks` to the definitions
/// of x0 and y0, which are those of the block's set.
static std::string batchParameters(const LinalgFusion &lowered,
                                   std::string &picks) {
  SmallVector<std::string> parameters;
  auto ofSet = [](const Pointer &pointer, int64_t set) {
    return pointer.name + "_" + std::to_string(set);
  };
  for (const SmallVector<Pointer> &pointers :
       {inputsOf(lowered), outputsOf(lowered)})
    for (int64_t set = 0; set < lowered.batch(); ++set)
      for (const Pointer &pointer : pointers)
        parameters.push_back(pointer.type + " *" + ofSet(pointer, set));
  for (const Pointer &pointer : pointersOf(lowered)) {
    picks +=
        pointer.type + " *const " + pointer.name + " = frit::pick(blockIdx.y";
    for (int64_t set = 0; set < lowered.batch(); ++set)
      picks += ", " + ofSet(pointer, set);
    picks += ");\n";
  }
  return llvm::join(parameters, ", ");
}

std::string frit::cuda::kernelFunction(StringRef name,
                                       const LinalgFusion &lowered,
                                       const KernelFrame &frame,
                                       StringRef call) {
  std::string picks;
  std::string parameters = lowered.batch() > 1 ? batchParameters(lowered, picks)
                                               : parameterList(lowered);
  for (size_t i = 0; i < frame.tensorMaps; ++i)
    parameters +=
        ", const __grid_constant__ frit::TensorMap m" + std::to_string(i);
  if (!frame.scalars.empty())
    parameters += ", " + frame.scalars;
  std::string body;
  if (frame.wait == PdlWait::atEntry)
    body = startText(lowered) + "frit::pdlWait();\n";
  std::string cluster =
      frame.cluster > 1
          ? "__cluster_dims__(" + std::to_string(frame.cluster) + ", 1, 1) "
          : "";
  std::string bounds = std::to_string(frame.threads);
  if (frame.occupancy)
    bounds += ", " + std::to_string(frame.occupancy);
  return ("extern \"C\" __global__ void " + cluster + "__launch_bounds__(" +
          bounds + ")\n" + name + "(" + parameters + ") {\n" +
          indented(picks + body + call.str(), 2) + "}\n")
      .str();
}
