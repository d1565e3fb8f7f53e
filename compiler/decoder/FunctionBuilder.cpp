//===- FunctionBuilder.cpp - Inputs, states and outputs of @main ----------===//

#include "compiler/decoder/FunctionBuilder.h"

#include "dialects/nn/IndexRange.h"

#include "frit/role_names.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

FunctionBuilder::FunctionBuilder(const DecoderConfig &config,
                                 DecoderWeights &weights,
                                 const DecoderSizes &sizes, int64_t rows)
    : config(config), weights(weights), sizes(sizes),
      b(sizes.located, sizes.element.getContext()),
      tokens{sizes.batch, rows, sizes.context, sizes.element, sizes.tables,
             {},          {}},
      owner(ModuleOp::create(sizes.located)) {
  tokens.loraRank = sizes.loraRank;
  tokens.addAdapter = [this](const Twine &name, ArrayRef<int64_t> shape) {
    size_t state =
        addState(name, shape, this->sizes.element, FRIT_STATE_ADAPTER);
    states[state].isWritten = false;
    return states[state].value;
  };
  main = func::FuncOp::create(sizes.located, "main", b.getFunctionType({}, {}));
  owner->push_back(main);
  b.setInsertionPointToEnd(main.addEntryBlock());
}

Value FunctionBuilder::addInput(StringRef name, ArrayRef<int64_t> shape,
                                Type element) {
  Value value = main.getBody().front().addArgument(
      RankedTensorType::get(shape, element), b.getLoc());
  NamedAttrList attributes;
  attributes.set("nn.name", b.getStringAttr(name));
  argumentAttributes.push_back(attributes);
  return value;
}

Value FunctionBuilder::addInput(StringRef name, ArrayRef<int64_t> shape,
                                int64_t most, const Twine &use) {
  Value value = addInput(name, shape, b.getI32Type());
  argumentAttributes.back().set(
      "nn.indices", nn::indicesAttr(*b.getContext(),
                                    nn::wholeRange(shape, 0, most, use.str())));
  return value;
}

size_t FunctionBuilder::addState(const Twine &name, ArrayRef<int64_t> shape,
                                 Type element, frit_state_role stateRole) {
  auto type = RankedTensorType::get(shape, element);
  Attribute member = nn::MemberAttr::get(b.getContext(), b.getStringAttr(name),
                                         0, type, ElementsAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(main);
  nn::StateOp::create(b, b.getStringAttr(name).getValue(), type,
                      b.getArrayAttr(member), artifact::kStateRoles[stateRole],
                      /*sharded=*/false, FlatSymbolRefAttr());
  Value value = main.getBody().front().addArgument(type, b.getLoc());
  NamedAttrList attributes;
  attributes.set("nn.state",
                 FlatSymbolRefAttr::get(b.getContext(), name.str()));
  argumentAttributes.push_back(attributes);
  states.push_back({name.str(), value});
  return states.size() - 1;
}

size_t FunctionBuilder::addSource() {
  size_t first = states.size();
  SmallVector<int64_t> shape{sizes.batch, config.heads, sizes.places,
                             config.headSize};
  for (size_t i = 0; i < config.layers.size(); ++i)
    for (StringRef what : {"key", "value"})
      addState("source." + Twine(i) + "." + what, shape, sizes.element,
               FRIT_STATE_SOURCE);
  if (!config.encoder->bins)
    tokens.sourceLength =
        states[addState("source.length", {sizes.batch}, b.getI32Type(),
                        FRIT_STATE_SOURCE_LENGTH)]
            .value;
  for (size_t i = first; i < states.size(); ++i)
    states[i].isWritten = false;
  return first;
}

OwningOpRef<ModuleOp> FunctionBuilder::finish() {
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  for (auto [name, value] : outputs) {
    results.push_back(value);
    attributes.push_back(
        b.getDictionaryAttr(b.getNamedAttr("nn.name", b.getStringAttr(name))));
  }
  for (const State &state : states) {
    if (!state.isWritten)
      continue;
    results.push_back(state.value);
    attributes.push_back(b.getDictionaryAttr(b.getNamedAttr(
        "nn.state", FlatSymbolRefAttr::get(b.getContext(), state.name))));
  }
  func::ReturnOp::create(b, results);
  main.setFunctionType(b.getFunctionType(main.getBody().getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  main.setAllArgAttrs(
      llvm::map_to_vector(argumentAttributes, [&](NamedAttrList &list) {
        return list.getDictionary(b.getContext());
      }));
  main.setAllResultAttrs(attributes);
  if (failed(verify(*owner)))
    return {};
  return std::move(owner);
}
