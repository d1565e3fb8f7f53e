//===- JoinEncoder.cpp - An encoder and what decoders read of it ----------===//
//
//   encoder:  %hidden of %input_ids and %attention_mask
//   decoder:  %present.0.encoder.key, … of %encoder_hidden_states
// ==>
//   func.func @main(%source: tensor<1x24xi32>, %count: tensor<1xi32>,
//                   %key: ... {nn.state = @past_key_values.0.encoder.key}, …)
//       -> (%encoded, ..., nn.update %key, %present.0.encoder.key)
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/caches/JoinEncoder.h"

#include "dialects/nn/IndexRange.h"
#include "dialects/nn/NN.h"

#include "frit/role_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

static func::FuncOp mainOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("main");
}

static Operation *endOf(func::FuncOp main) {
  return main.getBody().front().getTerminator();
}

std::vector<SourceState> decoder::sourceStates(ModuleOp module) {
  std::vector<SourceState> found;
  for (auto state : module.getOps<nn::StateOp>())
    if (state.getRole() == artifact::kStateRoles[FRIT_STATE_SOURCE])
      found.push_back(
          {state.getSymName().str(), cast<RankedTensorType>(state.getType())});
  return found;
}

Value decoder::encodedOf(ModuleOp encoder) {
  for (Value value : endOf(mainOf(encoder))->getOperands())
    if (auto type = nn::tensorType(value);
        type.getRank() == 3 && isa<FloatType>(type.getElementType()))
      return value;
  return {};
}

namespace {
class EncoderJoiner {
public:
  EncoderJoiner(func::FuncOp main, func::FuncOp decoder,
                ArrayRef<SourceState> states, int64_t batch, int64_t count)
      : main(main), decoder(decoder), wanted(states), batch(batch),
        count(count), b(main.getLoc(), &main.getBody().front().front()) {}

  LogicalResult run();

private:
  LogicalResult findInputs();
  LogicalResult giveInputs();
  LogicalResult mapDecoder();
  Value copyOf(Value value);
  Value valueOf(const SourceState &state);
  LogicalResult write(const SourceState &state);
  void finish();
  BlockArgument addArgument(RankedTensorType type, StringRef key,
                            Attribute value);
  BlockArgument addState(StringRef name, RankedTensorType type,
                         frit_state_role role);

  func::FuncOp main, decoder;
  ArrayRef<SourceState> wanted;
  int64_t batch, count;
  nn::NNBuilder b;
  std::optional<unsigned> ids, mask, sound;
  unsigned given = 0; ///< arguments of the encoder's own
  Value encoded, lengths;
  IRMapping copies;   ///< of the decoder's values
  std::string hidden; ///< the decoder's input of what the encoder gives
  SmallVector<std::pair<std::string, Value>> states; ///< after the call
};
} // namespace

/// Finds tokens and their mask, or the sound.
LogicalResult EncoderJoiner::findInputs() {
  encoded = encodedOf(main->getParentOfType<ModuleOp>());
  if (!encoded)
    return emitError(main.getLoc())
           << "has no output of floats, batch x places x width, that a decoder "
              "could read";
  given = main.getNumArguments();
  for (BlockArgument argument : main.getArguments()) {
    auto type = nn::tensorType(argument);
    auto name =
        main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.name");
    bool isFloat = isa<FloatType>(type.getElementType());
    bool isMask = name && name.getValue().contains("mask");
    auto &place = isFloat ? sound : isMask ? mask : ids;
    if (argument.use_empty() && isMask)
      continue;
    if (place || (!isFloat && type.getShape() != ArrayRef({batch, count})))
      return emitError(argument.getLoc())
             << "of type " << type
             << " is none of an encoder's: tokens and their mask, " << batch
             << "x" << count << ", or a sound";
    place = argument.getArgNumber();
  }
  if (bool(sound) == bool(ids))
    return emitError(main.getLoc())
           << "takes " << (sound ? "both a sound and tokens" : "no tokens")
           << ", and an encoder takes a sound or tokens";
  if (ids && !mask)
    return emitError(main.getLoc())
           << "has no mask of tokens that it reads, which hides places of the "
              "source that do not count; export it with attention_mask";
  return success();
}

BlockArgument EncoderJoiner::addArgument(RankedTensorType type, StringRef key,
                                         Attribute value) {
  unsigned number = main.getNumArguments();
  (void)main.insertArgument(number, type,
                            b.getDictionaryAttr(b.getNamedAttr(key, value)),
                            main.getLoc());
  return main.getArgument(number);
}

BlockArgument EncoderJoiner::addState(StringRef name, RankedTensorType type,
                                      frit_state_role role) {
  Attribute member = nn::MemberAttr::get(b.getContext(), b.getStringAttr(name),
                                         0, type, ElementsAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(main);
  nn::StateOp::create(b, name, type, b.getArrayAttr(member),
                      artifact::kStateRoles[role], /*sharded=*/false,
                      FlatSymbolRefAttr());
  return addArgument(type, "nn.state",
                     FlatSymbolRefAttr::get(b.getContext(), name));
}

/// Gives the encoder its inputs of the role encode.
LogicalResult EncoderJoiner::giveInputs() {
  auto range = [&](int64_t most, const Twine &use, ArrayRef<int64_t> shape) {
    return nn::indicesAttr(*b.getContext(),
                           nn::wholeRange(shape, 0, most, use.str()));
  };
  if (sound) {
    BlockArgument own = main.getArgument(*sound);
    auto type = nn::tensorType(own);
    Value spectrum = addArgument(type.clone(b.getF32Type()), "nn.name",
                                 b.getStringAttr("features"));
    own.replaceAllUsesWith(b.cast(spectrum, type.getElementType()));
    return success();
  }
  BlockArgument own = main.getArgument(*ids), seen = main.getArgument(*mask);
  Type i32 = b.getI32Type();
  BlockArgument tokens = addArgument(nn::tensorType(own).clone(i32), "nn.name",
                                     b.getStringAttr("source"));
  if (auto known = main.getArgAttrOfType<ArrayAttr>(*ids, "nn.indices")) {
    int64_t most = nn::indicesOf(known).front().most;
    main.setArgAttr(tokens.getArgNumber(), "nn.indices",
                    range(most,
                          "the vocabulary has " + Twine(most + 1) + " tokens",
                          {batch, count}));
  }
  BlockArgument number = addArgument(RankedTensorType::get({batch}, i32),
                                     "nn.name", b.getStringAttr("count"));
  main.setArgAttr(
      number.getArgNumber(), "nn.indices",
      range(count, "the call has " + Twine(count) + " tokens", {batch}));
  lengths = number;
  Value places =
      nn::IotaOp::create(b, b.scalarLike(number, 0), b.scalarLike(number, 1),
                         ArrayRef<int64_t>{1, count}, 1);
  Value counts = nn::LessOp::create(b, places, b.reshape(number, {batch, 1}));
  own.replaceAllUsesWith(b.cast(tokens, nn::tensorType(own).getElementType()));
  seen.replaceAllUsesWith(
      b.cast(counts, nn::tensorType(seen).getElementType()));
  return success();
}

/// Gives the decoder what the encoder makes of the source.
LogicalResult EncoderJoiner::mapDecoder() {
  for (BlockArgument argument : decoder.getArguments()) {
    auto name = decoder.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                     "nn.name");
    if (!name || !isOfSource(name.getValue()) || argument.use_empty())
      continue;
    auto type = nn::tensorType(argument);
    if (isa<FloatType>(type.getElementType())) {
      if (type.getShape() != nn::shapeOf(encoded))
        return emitError(argument.getLoc())
               << "takes " << nn::shapeText(type.getShape())
               << ", and the encoder gives "
               << nn::shapeText(nn::shapeOf(encoded))
               << ": they are not of one model";
      hidden = name.getValue().str();
      copies.map(argument, b.cast(encoded, type.getElementType()));
    } else if (type.getShape() == ArrayRef({batch, count}) && lengths) {
      Value places = nn::IotaOp::create(b, b.scalarLike(lengths, 0),
                                        b.scalarLike(lengths, 1),
                                        ArrayRef<int64_t>{1, count}, 1);
      copies.map(
          argument,
          b.cast(nn::LessOp::create(b, places, b.reshape(lengths, {batch, 1})),
                 type.getElementType()));
    }
  }
  return success();
}

/// Returns the encoder's copy of a decoder's value; null after an error.
Value EncoderJoiner::copyOf(Value value) {
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value next = work.back();
    if (copies.contains(next)) {
      work.pop_back();
      continue;
    }
    Operation *op = next.getDefiningOp();
    if (!op) {
      emitError(next.getLoc())
          << "decides caches of the source, which the source alone should";
      return {};
    }
    size_t before = work.size();
    for (Value operand : op->getOperands())
      if (!copies.contains(operand))
        work.push_back(operand);
    if (work.size() != before)
      continue;
    b.clone(*op, copies);
    work.pop_back();
  }
  return copies.lookup(value);
}

/// Returns the value that fills a state; null after an error.
Value EncoderJoiner::valueOf(const SourceState &state) {
  StringRef name = state.name;
  if (name == hidden ||
      nn::tensorType(encoded).getRank() == state.type.getRank())
    return encoded;
  std::string sought = name.str();
  for (StringRef past : {"past_key_values", "past"})
    if (name.starts_with(past)) {
      sought = ("present" + name.drop_front(past.size())).str();
      break;
    }
  for (auto [i, value] : llvm::enumerate(endOf(decoder)->getOperands()))
    if (auto given = decoder.getResultAttrOfType<StringAttr>(i, "nn.name");
        given && given.getValue() == sought)
      return copyOf(value);
  emitError(decoder.getLoc())
      << "has no output '" << sought << "' for the cache '" << name
      << "' of the decoder's later calls";
  return {};
}

LogicalResult EncoderJoiner::write(const SourceState &state) {
  Value value = valueOf(state);
  if (!value)
    return failure();
  ArrayRef<int64_t> own = nn::shapeOf(value), whole = state.type.getShape();
  int64_t axis = -1;
  bool fits = own.size() == whole.size();
  for (size_t i = 0; fits && i < own.size(); ++i)
    if (own[i] != whole[i]) {
      fits = axis < 0 && own[i] == count && own[i] < whole[i];
      axis = int64_t(i);
    }
  if (!fits)
    return emitError(decoder.getLoc())
           << "gives " << nn::shapeText(own) << " for the cache '" << state.name
           << "', which later calls take with " << nn::shapeText(whole)
           << ": they are not of one model";
  value = b.cast(value, state.type.getElementType());
  Value before = addState(state.name, state.type, FRIT_STATE_SOURCE);
  Value first;
  if (axis >= 0)
    first = b.zeros(RankedTensorType::get({batch}, b.getI32Type()));
  states.push_back(
      {state.name, nn::UpdateOp::create(b, before, value, first,
                                        std::max<int64_t>(axis, 0))});
  return success();
}

void EncoderJoiner::finish() {
  SmallVector<Value> results{b.cast(encoded, b.getF32Type())};
  SmallVector<DictionaryAttr> attributes{b.getDictionaryAttr(
      b.getNamedAttr("nn.name", b.getStringAttr("encoded")))};
  for (auto &[name, value] : states) {
    results.push_back(value);
    attributes.push_back(b.getDictionaryAttr(b.getNamedAttr(
        "nn.state", FlatSymbolRefAttr::get(b.getContext(), name))));
  }
  endOf(main)->setOperands(results);
  llvm::BitVector old(main.getNumArguments());
  old.set(0, given);
  (void)main.eraseArguments(old);
  main.setFunctionType(b.getFunctionType(main.getBody().getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  main.setAllResultAttrs(attributes);
}

LogicalResult EncoderJoiner::run() {
  if (failed(findInputs()))
    return failure();
  if (failed(giveInputs()))
    return failure();
  b.setInsertionPoint(endOf(main));
  b.setLoc(main.getLoc());
  if (failed(mapDecoder()))
    return failure();
  for (const SourceState &state : wanted)
    if (failed(write(state)))
      return failure();
  if (lengths) {
    Value before = addState("source.length", nn::tensorType(lengths),
                            FRIT_STATE_SOURCE_LENGTH);
    states.push_back({"source.length",
                      nn::UpdateOp::create(b, before, lengths, Value(), 0)});
  }
  finish();
  return verify(main->getParentOp());
}

LogicalResult decoder::joinEncoder(ModuleOp encoder, ModuleOp decoder,
                                   ArrayRef<SourceState> states, int64_t batch,
                                   int64_t count) {
  return EncoderJoiner(mainOf(encoder), mainOf(decoder), states, batch, count)
      .run();
}
