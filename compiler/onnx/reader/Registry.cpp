//===- Registry.cpp - Find the importer of an operator --------------------===//

#include "compiler/onnx/reader/Registry.h"

#include "compiler/onnx/reader/Node.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns the hook for an operator at an opset, or null. Sets `later` to the
/// opset of a newer hook, if any.
static const Hook *findHook(StringRef operation, int64_t opset,
                            int64_t *later = nullptr) {
  static const llvm::StringMap<SmallVector<Hook>> table = [] {
    llvm::StringMap<SmallVector<Hook>> hooks;
    for (ArrayRef<Hook> family : {elementwiseHooks(),
                                  shapeHooks(),
                                  movementHooks(),
                                  slicingHooks(),
                                  windowHooks(),
                                  contractionHooks(),
                                  attentionHooks(),
                                  reductionHooks(),
                                  normalizationHooks(),
                                  indexingHooks(),
                                  rankingHooks(),
                                  lossHooks(),
                                  quantizationHooks(),
                                  controlFlowHooks(),
                                  scanHooks(),
                                  knownHooks(),
                                  randomHooks(),
                                  resizeHooks(),
                                  samplingHooks(),
                                  recurrentHooks(),
                                  transposedHooks(),
                                  spectralHooks(),
                                  einsumHooks(),
                                  sequenceHooks(),
                                  listHooks(),
                                  stringHooks(),
                                  stringOperatorHooks(),
                                  imageHooks(),
                                  treeHooks(),
                                  trainingHooks(),
                                  quantizedOpHooks(),
                                  linearHooks(),
                                  groupQueryHooks(),
                                  fusedAttentionHooks(),
                                  fusedContractionHooks(),
                                  fusedElementwiseHooks()})
      for (const Hook &hook : family)
        hooks[hook.operation].push_back(hook);
    return hooks;
  }();
  const Hook *best = nullptr;
  auto it = table.find(operation);
  if (it == table.end())
    return nullptr;
  for (const Hook &hook : it->second) {
    if (hook.since <= opset && (!best || hook.since > best->since))
      best = &hook;
    if (hook.since > opset && later)
      *later = hook.since;
  }
  return best;
}

/// Returns the nn operator that is imported by name, or null.
static const nn::OnnxEntry *findEntry(StringRef operation, int64_t opset,
                                      int64_t *later = nullptr) {
  const nn::OnnxEntry *entry = nn::lookupOnnx(operation);
  if (!entry || entry->since <= opset)
    return entry;
  if (later)
    *later = entry->since;
  return nullptr;
}

/// Returns the least and largest number of operands; -1 for no limit.
static std::pair<int, int> operandCount(RegisteredOperationName name) {
  if (name.hasTrait<OpTrait::OneOperand>())
    return {1, 1};
  if (name.hasTrait<OpTrait::NOperands<2>::Impl>())
    return {2, 2};
  if (name.hasTrait<OpTrait::NOperands<3>::Impl>())
    return {3, 3};
  return {1, -1};
}

bool frit::importer::checkInputCount(Node &node, int least, int most) {
  int count = node.inputs().size();
  if (count >= least && (most < 0 || count <= most))
    return true;
  auto error = node.error();
  error << "takes " << least;
  if (most < 0)
    error << " or more";
  else if (most != least)
    error << " to " << most;
  error << (least == 1 && most == 1 ? " input" : " inputs") << ", but has "
        << count;
  return false;
}

/// Imports with operands in order and attributes by name.
static Results importByName(Node &node, const nn::OnnxEntry &entry) {
  auto name = RegisteredOperationName::lookup(entry.operation, node.context());
  assert(name && "the registry names an operator that is not there");
  auto [least, most] = operandCount(*name);
  if (!checkInputCount(node, least, most))
    return {};
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (!node.input(i))
      return {};
  return {node.create(*name, node.inputs(), node.convertAll(*name))};
}

bool frit::importer::isImported(StringRef operation, int64_t opset,
                                int64_t &later) {
  return findHook(operation, opset, &later) ||
         findEntry(operation, opset, &later);
}

//===----------------------------------------------------------------------===//
// Strings
//===----------------------------------------------------------------------===//

namespace {
/// How an operator treats the numbers that stand for strings.
struct StringUse {
  StringLiteral operation;
  size_t first, last; ///< inputs that are all strings, or none of them
  bool moves;         ///< whether its results are strings
};
} // namespace

static constexpr size_t kLastInput = SIZE_MAX;
static constexpr StringUse stringUses[] = {
    {"Identity", 0, 0, true},
    {"Reshape", 0, 0, true},
    {"Squeeze", 0, 0, true},
    {"Unsqueeze", 0, 0, true},
    {"Flatten", 0, 0, true},
    {"Transpose", 0, 0, true},
    {"Expand", 0, 0, true},
    {"Tile", 0, 0, true},
    {"Slice", 0, 0, true},
    {"Split", 0, 0, true},
    {"Gather", 0, 0, true},
    {"GatherElements", 0, 0, true},
    {"GatherND", 0, 0, true},
    {"Where", 1, 2, true},
    {"Concat", 0, kLastInput, true},
    {"Equal", 0, kLastInput, false},
    {"Shape", 0, 0, false},
    {"Size", 0, 0, false},
    {"ai.onnx.ml::ArrayFeatureExtractor", 0, 0, true},
};

/// Replaces strings among the inputs by their numbers if the operator moves or
/// compares elements. Returns whether its results are strings.
static bool readNumbersOfStrings(Node &node, StringRef operation) {
  auto use = llvm::find_if(stringUses, [&](const StringUse &use) {
    return use.operation == operation;
  });
  if (use == std::end(stringUses))
    return false;
  size_t end = std::min(use->last, node.inputs().size() - 1) + 1;
  size_t strings = 0;
  for (size_t i = use->first; i < end; ++i)
    strings += node.has(i) && isStrings(node.input(i));
  if (strings == 0 || strings != end - use->first)
    return false;
  for (size_t i = use->first; i < end; ++i)
    node.setInput(i, idsOf(node.input(i)));
  return use->moves;
}

//===----------------------------------------------------------------------===//
// All operators
//===----------------------------------------------------------------------===//

/// Uses the hook or the nn operator, whichever is for the later opset.
static Results importOnNumbers(Node &node, StringRef operation) {
  const Hook *hook = findHook(operation, node.opset);
  const nn::OnnxEntry *entry = findEntry(operation, node.opset);
  for (auto [i, value] : llvm::enumerate(node.inputs()))
    if (value && !isTensor(value) &&
        !(hook &&
          (hook->takes & (isList(value) ? takesLists : takesStrings)))) {
      node.error() << "input " << i << " is " << kindOf(value)
                   << ", not a tensor" << (isList(value) ? "" : " of numbers");
      return {};
    }
  bool byHook = hook && !(entry && entry->since > hook->since);
  for (auto [i, value] : llvm::enumerate(node.inputs()))
    if (byHook && !(hook->takes & takesCounts) && value && isTensor(value) &&
        isMarked(value)) {
      node.error() << "the size of input " << i
                   << " depends on the data (up to "
                   << nn::shapeText(nn::shapeOf(value)) << "), which "
                   << operation << " does not support" << fixInputsHint(value);
      return {};
    }
  if (!byHook)
    return importByName(node, *entry);
  if (!checkInputCount(node, hook->minInputs, hook->maxInputs))
    return {};
  return hook->build(node);
}

Results frit::importer::importOperator(Node &node) {
  std::string operation = node.operation();
  bool givesStrings = readNumbersOfStrings(node, operation);
  Results results = importOnNumbers(node, operation);
  if (givesStrings && !node.failed)
    for (Value &result : results)
      if (result)
        result = stringsOf(node.builder(), node.loc, result);
  // -fbound of a node that computes a size.
  for (Value result : results)
    if (!node.failed && result && isTensor(result) &&
        nn::tensorType(result).getNumElements() == 1)
      node.boundElements(result);
  return results;
}
