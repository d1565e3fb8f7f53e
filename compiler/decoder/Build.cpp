//===- Build.cpp - Decoder language models as nn modules ------------------===//
//
//   nn.state @length : tensor<1xi32> [...] {role = "length"}
//   nn.state @tokens : tensor<1x4097xi32> [...] {role = "tokens"}
//   nn.state @cache.0.key : tensor<1x8x4096x64xbf16> [...] {role = "cache"}
//   ...
//   func.func @main(%tokens: tensor<1x16xi32> {nn.name = "tokens"},
//                   %count: tensor<1xi32> {nn.name = "count"},
//                   %length: tensor<1xi32> {nn.state = @length}, ...)
//       -> (tensor<1x32000xf32> {nn.name = "logits"},
//           tensor<1xi32> {nn.state = @length}, ...)
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/Build.h"

#include "compiler/decoder/Layers.h"
#include "compiler/import/Elements.h"
#include "dialects/nn/IndexRange.h"

#include "frit/role_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

namespace {
class FunctionBuilder {
public:
  FunctionBuilder(const DecoderConfig &config, DecoderWeights &weights,
                  const DecoderSizes &sizes, frit_function_role role,
                  int64_t chunk)
      : config(config), weights(weights), sizes(sizes), role(role),
        b(sizes.located, sizes.element.getContext()),
        tokens{sizes.batch, chunk, sizes.context, sizes.element, sizes.tables,
               {},          {}} {}

  OwningOpRef<ModuleOp> run();

private:
  /// A state's value: first before the call, then after it.
  struct State {
    std::string name;
    Value value;
  };

  Value addInput(StringRef name, ArrayRef<int64_t> shape, int64_t most,
                 const Twine &use);
  size_t addState(const Twine &name, ArrayRef<int64_t> shape, Type element,
                  frit_state_role stateRole);
  Value lastRows(Value x, Value count);
  void finish(Value logits);

  bool isPrefill() const { return role == FRIT_FUNCTION_PREFILL; }

  const DecoderConfig &config;
  DecoderWeights &weights;
  const DecoderSizes &sizes;
  frit_function_role role;
  nn::NNBuilder b;
  Tokens tokens;
  ModuleOp module;
  func::FuncOp main;
  std::vector<State> states;
  SmallVector<NamedAttrList> argumentAttributes;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// Adds an i32 input whose elements are from 0 to `most`.
Value FunctionBuilder::addInput(StringRef name, ArrayRef<int64_t> shape,
                                int64_t most, const Twine &use) {
  Value value = main.getBody().front().addArgument(
      RankedTensorType::get(shape, b.getI32Type()), b.getLoc());
  NamedAttrList attributes;
  attributes.set("nn.name", b.getStringAttr(name));
  attributes.set("nn.indices",
                 nn::indicesAttr(*b.getContext(),
                                 nn::wholeRange(shape, 0, most, use.str())));
  argumentAttributes.push_back(attributes);
  return value;
}

/// Adds a state of one tensor and returns its index.
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

void FunctionBuilder::finish(Value logits) {
  SmallVector<Value> results{logits};
  SmallVector<DictionaryAttr> attributes{b.getDictionaryAttr(
      b.getNamedAttr("nn.name", b.getStringAttr("logits")))};
  for (const State &state : states) {
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
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Builds the row of the last token that counts: batch × width.
Value FunctionBuilder::lastRows(Value x, Value count) {
  Value flat = b.reshape(x, {sizes.batch * tokens.queries, config.width});
  if (tokens.queries == 1)
    return flat;
  Value first =
      nn::IotaOp::create(b, b.scalarLike(count, 0),
                         b.scalarLike(count, tokens.queries), sizes.batch, 0);
  Value last = nn::MaxOp::create(b, b.sub(count, b.scalarLike(count, 1)),
                                 b.scalarLike(count, 0));
  return nn::GatherOp::create(b, flat, b.add(first, last), 0);
}

OwningOpRef<ModuleOp> FunctionBuilder::run() {
  OwningOpRef<ModuleOp> owner = ModuleOp::create(sizes.located);
  module = *owner;
  main = func::FuncOp::create(sizes.located, "main", b.getFunctionType({}, {}));
  module.push_back(main);
  b.setInsertionPointToEnd(main.addEntryBlock());

  int64_t batch = sizes.batch, context = sizes.context, chunk = tokens.queries;
  Value ids, count;
  if (isPrefill()) {
    ids =
        addInput("tokens", {batch, chunk}, config.vocabulary - 1,
                 "the vocabulary has " + Twine(config.vocabulary) + " tokens");
    count = addInput("count", {batch}, chunk,
                     "the call has " + Twine(chunk) + " tokens");
  }
  Type i32 = b.getI32Type();
  addState("length", {batch}, i32, FRIT_STATE_LENGTH);
  addState("tokens", {batch, context + 1}, i32, FRIT_STATE_TOKENS);
  SmallVector<int64_t> cache{batch, config.groups, context, config.headSize};
  for (size_t i = 0; i < config.layers.size(); ++i)
    for (StringRef what : {"key", "value"})
      addState("cache." + Twine(i) + "." + what, cache, sizes.element,
               FRIT_STATE_CACHE);

  Value length = tokens.length = states[0].value;
  // A sequence without tokens that count keeps its next one: rows beyond the
  // state are dropped.
  Value any, beyond;
  if (isPrefill()) {
    beyond = b.scalarLike(length, context + 1);
    any = nn::GreaterOp::create(b, count, b.scalarLike(count, 0));
    states[1].value =
        nn::UpdateOp::create(b, states[1].value, ids,
                             nn::WhereOp::create(b, any, length, beyond), 1);
  } else {
    ids = nn::GatherElementsOp::create(b, states[1].value,
                                       b.reshape(length, {batch, 1}), 1);
  }
  Value steps =
      nn::IotaOp::create(b, b.scalarLike(length, 0), b.scalarLike(length, 1),
                         ArrayRef<int64_t>{1, chunk}, 1);
  tokens.positions = b.add(b.reshape(length, {batch, 1}), steps);

  LayerBuilder layers(config, weights, tokens, b, sizes.located);
  Value x = layers.embed(ids);
  for (size_t i = 0; i < config.layers.size() && !layers.hasFailed; ++i) {
    State *state = &states[2 + 2 * i];
    Cache own{state[0].value, state[1].value};
    x = layers.layer(x, i, own);
    state[0].value = own.keys;
    state[1].value = own.values;
  }
  b.setLoc(sizes.located);
  if (isPrefill())
    x = lastRows(x, count);
  else
    x = b.reshape(x, {batch, config.width});
  Value logits = layers.logits(x);
  if (layers.hasFailed)
    return {};

  b.setLoc(sizes.located);
  Value best = b.cast(nn::ArgMaxOp::create(b, logits, -1, 1, 0), i32);
  Value added = isPrefill() ? count : b.scalarLike(length, 1);
  Value after = states[0].value = b.add(length, added);
  if (isPrefill())
    after = nn::WhereOp::create(b, any, after, beyond);
  states[1].value = nn::UpdateOp::create(b, states[1].value, best, after, 1);
  finish(logits);
  if (failed(verify(module)))
    return {};
  return owner;
}

OwningOpRef<ModuleOp> decoder::buildFunction(const DecoderConfig &config,
                                             DecoderWeights &weights,
                                             const DecoderSizes &sizes,
                                             frit_function_role role,
                                             int64_t chunk) {
  return FunctionBuilder(config, weights, sizes, role, chunk).run();
}

int64_t decoder::cacheBytes(const DecoderConfig &config,
                            const DecoderSizes &sizes) {
  return 2 * int64_t(config.layers.size()) * sizes.batch * config.groups *
         sizes.context * config.headSize *
         importer::elementBytes(sizes.element);
}
