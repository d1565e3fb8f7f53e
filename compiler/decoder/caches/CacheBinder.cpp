//===- CacheBinder.cpp - Decoders whose caches are inputs and outputs -----===//
//
// With 4 entries and calls of 2 tokens:
//   func.func @main(%ids: tensor<1x2xi64>, %mask: tensor<1x6xi64>,
//                   %positions: tensor<1x2xi64>, %past: tensor<1x8x4x64xf32>)
//     %all = nn.concat %past, %new {axis = 2}
//     ... %all as keys ...
//     return %logits, %all
// ==>
//   func.func @main(%tokens: tensor<1x2xi32>, %count: tensor<1xi32>,
//                   %length: ... {nn.state = @length}, ... @tokens,
//                   %past: tensor<1x8x4x64xf32> {nn.state = @past})
//     %next = nn.update %past, %new, %length {axis = 2}
//     %all = nn.gather %next, [length - 4, ..., length + 1] {axis = 2}
//     ... %all as keys ...
//     return %row of logits, ..., %next
//
// The model sees a sequence that is padded on the left: key i of context +
// tokens has position i - (context - length). Distances between queries and
// keys are right, so that masks which the model computes of its shapes, causal
// or of windows, are as well. The input mask hides what lies before position 0.
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/caches/CacheBinder.h"
#include "compiler/decoder/Verify.h"
#include "compiler/decoder/caches/HideKeys.h"
#include "dialects/nn/IndexRange.h"
#include "dialects/nn/operators/Places.h"

#include "frit/role_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

Value CacheBinder::addArgument(RankedTensorType type, StringRef name,
                               Attribute value) {
  unsigned number = main.getNumArguments();
  auto attributes = b.getDictionaryAttr(b.getNamedAttr(name, value));
  if (failed(main.insertArgument(number, type, attributes, main.getLoc())))
    return {};
  return main.getArgument(number);
}

/// Adds an i32 input whose elements are from 0 to `most`.
Value CacheBinder::addInput(StringRef name, ArrayRef<int64_t> shape,
                            int64_t most, const Twine &use) {
  Value value = addArgument(RankedTensorType::get(shape, b.getI32Type()),
                            "nn.name", b.getStringAttr(name));
  main.setArgAttr(cast<BlockArgument>(value).getArgNumber(), "nn.indices",
                  nn::indicesAttr(*b.getContext(),
                                  nn::wholeRange(shape, 0, most, use.str())));
  return value;
}

Value CacheBinder::addState(StringRef name, RankedTensorType type,
                            frit_state_role stateRole) {
  Attribute member = nn::MemberAttr::get(b.getContext(), b.getStringAttr(name),
                                         0, type, ElementsAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(main);
  nn::StateOp::create(b, name, type, b.getArrayAttr(member),
                      artifact::kStateRoles[stateRole], /*sharded=*/false,
                      FlatSymbolRefAttr());
  Value value = addArgument(type, "nn.state",
                            FlatSymbolRefAttr::get(b.getContext(), name));
  states.push_back({name.str(), value});
  return value;
}

/// Returns the largest number that an input may have, at most `otherwise`.
int64_t CacheBinder::mostOf(unsigned argument, int64_t otherwise) {
  auto ranges = main.getArgAttrOfType<ArrayAttr>(argument, "nn.indices");
  if (ranges)
    for (const nn::IndexRange &range : nn::indicesOf(ranges))
      otherwise = std::min(otherwise, range.most);
  return otherwise;
}

void CacheBinder::replace(unsigned argument, Value value) {
  auto type = nn::tensorType(main.getArgument(argument));
  if (type.getShape() != nn::shapeOf(value))
    value = b.reshape(value, type.getShape());
  main.getArgument(argument).replaceAllUsesWith(
      b.cast(value, type.getElementType()));
}

/// Builds 0 to `size` - 1, i32 of 1 × size.
Value CacheBinder::countTo(int64_t size) {
  return nn::IotaOp::create(b, b.scalarLike(length, 0), b.scalarLike(length, 1),
                            ArrayRef<int64_t>{1, size}, 1);
}

/// Gives the model its tokens, their positions, and the mask of its keys.
void CacheBinder::giveInputs(Value tokenIds) {
  Value rows = b.reshape(length, {batch, 1});
  replace(*ids, tokenIds);
  // Rows that do not count may lie beyond the caches, and beyond the model's
  // positions.
  if (!positions.empty()) {
    Value own = b.add(rows, countTo(tokens));
    own = nn::MinOp::create(b, own, b.scalarLike(own, context - 1));
    for (unsigned argument : positions)
      replace(argument, own);
  }
  if (!mask)
    return;
  if (hasFixed()) {
    Value end = b.add(rows, b.scalarLike(rows, tokens));
    replace(*mask, nn::LessOp::create(b, countTo(context), end));
    return;
  }
  Value entries = b.add(rows, countTo(context + tokens));
  replace(*mask, nn::GreaterEqualOp::create(b, entries,
                                            b.scalarLike(entries, context)));
}

/// Makes what an encoder gives states, and hides the places of the source that
/// do not count.
void CacheBinder::giveSource() {
  for (unsigned source : sources) {
    BlockArgument argument = main.getArgument(source);
    argument.replaceAllUsesWith(
        addState(nameOf(source), nn::tensorType(argument), FRIT_STATE_SOURCE));
  }
  if (!sourceMask)
    return;
  Value count =
      addState("source.length", RankedTensorType::get({batch}, b.getI32Type()),
               FRIT_STATE_SOURCE_LENGTH);
  replace(*sourceMask,
          nn::LessOp::create(b, countTo(places), b.reshape(count, {batch, 1})));
}

/// Masks scores of a model without a mask of keys: entries that are free, and
/// tokens after the query's own.
LogicalResult CacheBinder::hideEntries() {
  int64_t keys = context + tokens;
  Value places = b.reshape(countTo(keys), {1, 1, keys});
  Value queries = b.reshape(countTo(tokens), {1, tokens, 1});
  Value used = nn::GreaterEqualOp::create(
      b, b.add(places, b.reshape(length, {batch, 1, 1})),
      b.scalarLike(places, context));
  Value early = nn::LessEqualOp::create(
      b, places, b.add(queries, b.scalarLike(queries, context)));
  KeyHider hider(b, nn::AndOp::create(b, used, early));
  for (const Cache &cache : caches)
    if (failed(hider.follow(cache.all, cache.axis)))
      return failure();
  if (2 * hider.keyCount() == int64_t(caches.size()))
    return success();
  return error() << "has no mask of keys that it reads, and "
                 << hider.keyCount() << " of its " << caches.size()
                 << " caches are keys of an attention; export it with "
                    "attention_mask, integers of batch x (past + sequence)";
}

/// Builds the entries of a cache after the call in the order in which a model
/// that appends rows expects them.
Value CacheBinder::readAppended(Cache cache, Value next) {
  int64_t keys = context + tokens;
  Value places = nn::IotaOp::create(b, b.scalarLike(length, -context),
                                    b.scalarLike(length, 1),
                                    ArrayRef<int64_t>{1, keys}, 1);
  places = b.add(b.reshape(length, {batch, 1}), places);
  places = nn::MinOp::create(
      b, nn::MaxOp::create(b, places, b.scalarLike(places, 0)),
      b.scalarLike(places, context - 1));
  if (batch == 1)
    return nn::GatherOp::create(b, next, b.reshape(places, {keys}), cache.axis);
  SmallVector<int64_t> shape(nn::shapeOf(next).size(), 1);
  shape[0] = batch;
  shape[cache.axis] = keys;
  places =
      nn::ExpandOp::create(b, b.reshape(places, shape), nn::shapeOf(cache.all));
  return nn::GatherElementsOp::create(b, next, places, cache.axis);
}

/// Writes new rows into a cache, and gives the model its entries. Returns the
/// cache after the call.
Value CacheBinder::bind(Cache cache) {
  auto type = nn::tensorType(main.getArgument(cache.argument));
  Value state = addState(nameOf(cache.argument), type, FRIT_STATE_CACHE);
  Operation *def = cache.all.getDefiningOp();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(def);
  b.setLoc(def->getLoc());
  Value fresh = cache.written ? buildRows(b, *cache.written)
                              : cast<nn::ConcatOp>(def).getXs()[1];
  Value next = nn::UpdateOp::create(b, state, fresh, length, cache.axis);
  // Positions and the keys that queries see follow from where rows go.
  if (cache.written && cache.written->offset)
    cache.written->offset.replaceAllUsesWith(length);
  // Entry i of a cache of a fixed size has position i, as those of the state.
  cache.all.replaceAllUsesWith(cache.written ? next
                                             : readAppended(cache, next));
  def->erase();
  return next;
}

/// Builds the places of the last tokens that count among those of all
/// sequences.
Value CacheBinder::lastPlaces(Value count) {
  Value first =
      nn::IotaOp::create(b, b.scalarLike(count, 0), b.scalarLike(count, tokens),
                         ArrayRef<int64_t>{batch}, 0);
  Value last = nn::MaxOp::create(b, b.sub(count, b.scalarLike(count, 1)),
                                 b.scalarLike(count, 0));
  return b.add(first, last);
}

/// Builds the logits after the last token that counts: batch × vocabulary.
Value CacheBinder::lastRows(Value count) {
  int64_t vocabulary = nn::shapeOf(logits)[2];
  if (last) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(last);
    Value rows = last.getX();
    rows = b.reshape(rows, {batch * tokens, nn::shapeOf(rows)[2]});
    rows = nn::GatherOp::create(b, rows, lastPlaces(count), 0);
    last.getY().replaceAllUsesWith(b.reshape(rows, nn::shapeOf(last.getY())));
  }
  Value flat =
      b.reshape(logits, {nn::tensorType(logits).getNumElements() / vocabulary,
                         vocabulary});
  if (!last && tokens > 1)
    flat = nn::GatherOp::create(b, flat, lastPlaces(count), 0);
  return b.cast(flat, b.getF32Type());
}

static void eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

LogicalResult CacheBinder::checkContext() {
  int64_t most = context - 1;
  for (unsigned argument : positions)
    most = mostOf(argument, most);
  if (most == context - 1)
    return success();
  return error() << "a context of " << context << " tokens exceeds the "
                 << most + 1 << " that the model has positions for"
                 << (places ? "; --context=NUMBER gives a smaller one" : "");
}

/// Adds what a call is given: its tokens, unless they are the list's next, and
/// the states of the sequences.
CacheBinder::Tokens CacheBinder::addTokens() {
  Tokens given;
  Type i32 = b.getI32Type();
  if (takesTokens()) {
    int64_t vocabulary = mostOf(*ids, nn::shapeOf(logits)[2] - 1) + 1;
    given.ids = addInput("tokens", {batch, tokens}, vocabulary - 1,
                         "the vocabulary has " + Twine(vocabulary) + " tokens");
    given.count = addInput("count", {batch}, tokens,
                           "the call has " + Twine(tokens) + " tokens");
  }
  length = addState("length", RankedTensorType::get({batch}, i32),
                    FRIT_STATE_LENGTH);
  given.list =
      addState("tokens", RankedTensorType::get({batch, context + 1}, i32),
               FRIT_STATE_TOKENS);
  given.next = nn::GatherElementsOp::create(b, given.list,
                                            b.reshape(length, {batch, 1}), 1);
  if (takesTokens())
    given.list = nn::UpdateOp::create(b, given.list, given.ids, length, 1);
  else
    given.ids = given.next;
  return given;
}

/// Builds the logits, the token that follows each sequence, and how many a
/// sequence has then. Returns the outputs.
CacheBinder::Outputs CacheBinder::answer(const Tokens &given) {
  bool verifies = role == FRIT_FUNCTION_VERIFY;
  Value rows =
      verifies ? b.cast(logits, b.getF32Type()) : lastRows(given.count);
  Value best = b.cast(nn::createPlaceOfMost(b, rows), b.getI32Type());
  Outputs outputs{{"logits", rows}};
  Value added = takesTokens() ? given.count : Value(b.scalarLike(length, 1));
  if (verifies) {
    Value likeliest = b.reshape(best, {batch, tokens});
    Verified verified = acceptGuesses(b, given.ids, likeliest, given.count);
    best = verified.next;
    added = verified.kept;
    outputs.push_back({"likeliest", likeliest});
  }
  if (takesTokens()) {
    Value any =
        nn::GreaterOp::create(b, given.count, b.scalarLike(given.count, 0));
    best = nn::WhereOp::create(b, b.reshape(any, {batch, 1}), best, given.next);
  }
  Value after = b.add(length, added);
  states[0].second =
      nn::UpdateOp::create(b, length, after, /*offset=*/nullptr, /*axis=*/0);
  states[1].second = nn::UpdateOp::create(b, given.list, best, after, 1);
  return outputs;
}

/// Makes the function return outputs and states, and removes its first `old`
/// arguments.
LogicalResult CacheBinder::replaceInterface(const Outputs &outputs,
                                            unsigned old) {
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  for (auto [name, value] : outputs) {
    results.push_back(value);
    attributes.push_back(
        b.getDictionaryAttr(b.getNamedAttr("nn.name", b.getStringAttr(name))));
  }
  for (auto &[name, value] : states) {
    if (!value)
      continue;
    results.push_back(value);
    attributes.push_back(b.getDictionaryAttr(b.getNamedAttr(
        "nn.state", FlatSymbolRefAttr::get(b.getContext(), name))));
  }
  main.getBody().front().getTerminator()->setOperands(results);
  eraseUnused(main.getBody().front()); // what wrote into caches of a fixed size
  llvm::BitVector erased(main.getNumArguments());
  erased.set(0, old);
  if (failed(main.eraseArguments(erased)))
    return failure();
  main.setFunctionType(b.getFunctionType(main.getBody().getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  main.setAllResultAttrs(attributes);
  return success();
}

LogicalResult CacheBinder::run() {
  eraseUnused(main.getBody().front());
  if (failed(findOutputs()) || failed(findInputs()) || failed(checkCaches()) ||
      failed(checkPlaces()) || failed(checkContext()))
    return failure();
  b.setInsertionPointToStart(&main.getBody().front());
  unsigned old = main.getNumArguments();
  Tokens given = addTokens();
  giveInputs(given.ids);
  // With caches of a fixed size, the model hides entries by their positions.
  if (!mask && !hasFixed() && failed(hideEntries()))
    return failure();
  for (const Cache &cache : caches) {
    Value after = bind(cache);
    states.back().second = after;
  }
  giveSource();

  b.setInsertionPoint(main.getBody().front().getTerminator());
  b.setLoc(main.getLoc());
  if (failed(replaceInterface(answer(given), old)))
    return failure();
  return verify(main->getParentOp());
}

LogicalResult decoder::bindCaches(ModuleOp module, const CacheSizes &sizes,
                                  frit_function_role role) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  return CacheBinder(main, sizes, role).run();
}
