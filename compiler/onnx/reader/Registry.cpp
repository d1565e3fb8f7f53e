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
    for (ArrayRef<Hook> family :
         {elementwiseHooks(), shapeHooks(),         movementHooks(),
          windowHooks(),      contractionHooks(),   attentionHooks(),
          reductionHooks(),   normalizationHooks(), indexingHooks(),
          lossHooks(),        quantizationHooks(),  controlFlowHooks(),
          knownHooks(),       randomHooks(),        resizeHooks(),
          samplingHooks(),    recurrentHooks(),     transposedHooks(),
          spectralHooks(),    einsumHooks(),        sequenceHooks(),
          listHooks(),        trainingHooks()})
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

/// Uses the hook or the nn operator, whichever is for the later opset.
Results frit::importer::importOperator(Node &node) {
  std::string operation = node.operation();
  const Hook *hook = findHook(operation, node.opset);
  const nn::OnnxEntry *entry = findEntry(operation, node.opset);
  for (auto [i, value] : llvm::enumerate(node.inputs()))
    if (value && isList(value) && !(hook && hook->takesLists)) {
      node.error() << "input " << i << " is a sequence, not a tensor";
      return {};
    }
  bool byHook = hook && !(entry && entry->since > hook->since);
  for (auto [i, value] : llvm::enumerate(node.inputs()))
    if (byHook && !hook->takesCounts && value && isMarked(value)) {
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
