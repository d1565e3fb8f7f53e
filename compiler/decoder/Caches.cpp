//===- Caches.cpp - Decoders whose caches are inputs and outputs ----------===//
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

#include "compiler/decoder/Caches.h"

#include "compiler/decoder/Verify.h"
#include "dialects/nn/IndexRange.h"
#include "dialects/nn/NN.h"

#include "frit/role_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace frit;

namespace {
class CacheBinder {
public:
  CacheBinder(func::FuncOp main, int64_t batch, int64_t context, int64_t tokens,
              frit_function_role role)
      : main(main), batch(batch), context(context), tokens(tokens), role(role),
        b(main.getLoc(), &main.getBody().front().front()) {}

  LogicalResult run();

private:
  struct Cache {
    unsigned argument;
    nn::ConcatOp all;
    int64_t axis;
  };

  LogicalResult findInputs();
  LogicalResult findOutputs();
  LogicalResult checkCaches();
  Value addArgument(RankedTensorType type, StringRef name, Attribute value);
  Value addInput(StringRef name, ArrayRef<int64_t> shape, int64_t most,
                 const Twine &use);
  Value addState(StringRef name, RankedTensorType type,
                 frit_state_role stateRole);
  int64_t mostOf(unsigned argument, int64_t otherwise);
  void replace(unsigned argument, Value value);
  Value bind(Cache cache);
  Value lastRows(Value count);
  void giveInputs(Value ids);
  InFlightDiagnostic error() { return emitError(main.getLoc()); }
  bool takesTokens() const { return role != FRIT_FUNCTION_DECODE; }
  StringRef nameOf(unsigned argument) {
    auto name = main.getArgAttrOfType<StringAttr>(argument, "nn.name");
    return name ? name.getValue() : "";
  }

  func::FuncOp main;
  int64_t batch, context, tokens;
  frit_function_role role;
  nn::NNBuilder b;
  std::optional<unsigned> ids, positions, mask;
  std::vector<Cache> caches;
  Value logits, length;
  SmallVector<std::pair<std::string, Value>> states; ///< after the call
};
} // namespace

//===----------------------------------------------------------------------===//
// What the model has
//===----------------------------------------------------------------------===//

/// Finds tokens, positions and the mask; caches follow from the outputs.
LogicalResult CacheBinder::findInputs() {
  SmallVector<int64_t> own{batch, tokens}, all{batch, context + tokens};
  for (BlockArgument argument : main.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = nn::tensorType(argument);
    bool isNumber = type.getElementType().isIntOrIndex();
    if (llvm::any_of(caches,
                     [&](Cache &cache) { return cache.argument == number; }))
      continue;
    StringRef name = nameOf(number);
    bool isPosition = name.contains("position");
    std::optional<unsigned> *role =
        !isNumber                          ? nullptr
        : type.getShape() == ArrayRef(own) ? (isPosition ? &positions : &ids)
        : type.getShape() == ArrayRef(all) ? &mask
                                           : nullptr;
    if (!role || *role)
      return emitError(argument.getLoc())
             << "of type " << type
             << " is none of a decoder's with --context: tokens and positions, "
             << batch << "x" << tokens << ", a mask of keys, " << batch << "x"
             << context + tokens
             << ", and caches to which the model appends rows; "
                "-fconst-input="
             << name << "=@FILE makes it a constant";
    *role = number;
  }
  if (!ids || main.getArgument(*ids).use_empty())
    return error() << "has no input of tokens, integers of batch x sequence, "
                      "which --context needs";
  // Without them, positions may follow from the cache's size.
  if (!positions || main.getArgument(*positions).use_empty())
    return error() << "has no input of positions that it reads, which "
                      "--context needs: positions that the model computes "
                      "itself may depend on the size of its caches; export it "
                      "with position_ids";
  if (!mask || main.getArgument(*mask).use_empty())
    return error() << "has no mask of keys that it reads, which --context "
                      "needs to hide entries that are free; export it with "
                      "attention_mask, integers of batch x (past + sequence)";
  return success();
}

/// Finds the logits, and the outputs that are caches with rows after them.
LogicalResult CacheBinder::findOutputs() {
  Operation *end = main.getBody().front().getTerminator();
  SmallVector<std::pair<StringRef, Value>> others;
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    auto name = main.getResultAttrOfType<StringAttr>(i, "nn.name");
    if (!name)
      return error() << "computes numbers that each call checks, which "
                        "--context does not support";
    auto all = value.getDefiningOp<nn::ConcatOp>();
    auto past = all && all.getXs().size() == 2
                    ? dyn_cast<BlockArgument>(all.getXs()[0])
                    : BlockArgument();
    if (!past) {
      others.push_back({name.getValue(), value});
      continue;
    }
    auto type = nn::tensorType(past);
    int64_t axis = nn::axisOf(past, all.getAxis());
    if (axis == 0 || type.getShape()[0] != batch ||
        type.getShape()[axis] != context ||
        nn::shapeOf(all.getXs()[1])[axis] != tokens)
      return error() << "output '" << name.getValue() << "' appends "
                     << nn::shapeText(nn::shapeOf(all.getXs()[1]))
                     << " to input '" << nameOf(past.getArgNumber()) << "' of "
                     << nn::shapeText(type.getShape())
                     << ", which is no cache of " << context
                     << " entries for each of " << batch << " sequences";
    caches.push_back({past.getArgNumber(), all, axis});
  }
  if (caches.empty())
    return error() << "has no output that appends rows to a cache, which "
                      "--context needs";
  for (auto [name, value] : others)
    if (name == "logits" || others.size() == 1)
      logits = value;
  if (!logits)
    return error() << "has " << others.size()
                   << " outputs besides its caches, none of which is called "
                      "'logits'";
  ArrayRef<int64_t> shape = nn::shapeOf(logits);
  if (shape.size() != 3 || shape[0] != batch || shape[1] != tokens ||
      shape[2] < 1 || !isa<FloatType>(nn::tensorType(logits).getElementType()))
    return error() << "the logits are " << nn::tensorType(logits)
                   << ", but --context needs floats for each token: " << batch
                   << "x" << tokens << "xVOCABULARY";
  return success();
}

/// Checks that nothing reads a cache but its output.
LogicalResult CacheBinder::checkCaches() {
  llvm::SmallDenseSet<unsigned> seen;
  for (Cache &cache : caches) {
    BlockArgument past = main.getArgument(cache.argument);
    if (!seen.insert(cache.argument).second)
      return error() << "several outputs append to input '"
                     << nameOf(cache.argument) << "'";
    for (Operation *user : past.getUsers())
      if (user != cache.all)
        return emitError(user->getLoc())
               << "reads the cache '" << nameOf(cache.argument)
               << "' beside the output that appends to it, which --context "
                  "does not support";
  }
  return success();
}

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
  Type element = nn::tensorType(main.getArgument(argument)).getElementType();
  main.getArgument(argument).replaceAllUsesWith(b.cast(value, element));
}

/// Gives the model its tokens, their positions, and the mask of its keys.
void CacheBinder::giveInputs(Value tokenIds) {
  auto count = [&](int64_t size) {
    return nn::IotaOp::create(b, b.scalarLike(length, 0),
                              b.scalarLike(length, 1),
                              ArrayRef<int64_t>{1, size}, 1);
  };
  Value rows = b.reshape(length, {batch, 1});
  replace(*ids, tokenIds);
  // Rows that do not count may lie beyond the caches, and beyond the model's
  // positions.
  Value own = b.add(rows, count(tokens));
  replace(*positions,
          nn::MinOp::create(b, own, b.scalarLike(own, context - 1)));
  Value places = b.add(rows, count(context + tokens));
  replace(*mask,
          nn::GreaterEqualOp::create(b, places, b.scalarLike(places, context)));
}

/// Writes new rows into a cache, and gives the model its entries in the order
/// in which it expects them. Returns the cache after the call.
Value CacheBinder::bind(Cache cache) {
  BlockArgument past = main.getArgument(cache.argument);
  auto type = nn::tensorType(past);
  Value state = addState(nameOf(cache.argument), type, FRIT_STATE_CACHE);
  Value fresh = cache.all.getXs()[1];
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(cache.all);
  b.setLoc(cache.all.getLoc());
  Value next = nn::UpdateOp::create(b, state, fresh, length, cache.axis);
  int64_t keys = context + tokens;
  Value places = nn::IotaOp::create(b, b.scalarLike(length, -context),
                                    b.scalarLike(length, 1),
                                    ArrayRef<int64_t>{1, keys}, 1);
  places = b.add(b.reshape(length, {batch, 1}), places);
  places = nn::MinOp::create(
      b, nn::MaxOp::create(b, places, b.scalarLike(places, 0)),
      b.scalarLike(places, context - 1));
  Value all;
  if (batch == 1) {
    all = nn::GatherOp::create(b, next, b.reshape(places, {keys}), cache.axis);
  } else {
    SmallVector<int64_t> shape(type.getRank(), 1);
    shape[0] = batch;
    shape[cache.axis] = keys;
    places = nn::ExpandOp::create(b, b.reshape(places, shape),
                                  nn::shapeOf(cache.all.getY()));
    all = nn::GatherElementsOp::create(b, next, places, cache.axis);
  }
  cache.all.getY().replaceAllUsesWith(all);
  cache.all->erase();
  return next;
}

/// Builds the logits after the last token that counts: batch × vocabulary.
Value CacheBinder::lastRows(Value count) {
  int64_t vocabulary = nn::shapeOf(logits)[2];
  Value flat = b.reshape(logits, {batch * tokens, vocabulary});
  if (tokens > 1) {
    Value first = nn::IotaOp::create(b, b.scalarLike(count, 0),
                                     b.scalarLike(count, tokens),
                                     ArrayRef<int64_t>{batch}, 0);
    Value last = nn::MaxOp::create(b, b.sub(count, b.scalarLike(count, 1)),
                                   b.scalarLike(count, 0));
    flat = nn::GatherOp::create(b, flat, b.add(first, last), 0);
  }
  return b.cast(flat, b.getF32Type());
}

LogicalResult CacheBinder::run() {
  if (failed(findOutputs()) || failed(findInputs()) || failed(checkCaches()))
    return failure();
  unsigned given = main.getNumArguments();
  int64_t vocabulary = mostOf(*ids, nn::shapeOf(logits)[2] - 1) + 1;
  if (int64_t most = mostOf(*positions, context - 1); most < context - 1)
    return error() << "a context of " << context << " tokens exceeds the "
                   << most + 1 << " that the model has positions for";
  Type i32 = b.getI32Type();
  Value tokenIds, count;
  if (takesTokens()) {
    tokenIds = addInput("tokens", {batch, tokens}, vocabulary - 1,
                        "the vocabulary has " + Twine(vocabulary) + " tokens");
    count = addInput("count", {batch}, tokens,
                     "the call has " + Twine(tokens) + " tokens");
  }
  length = addState("length", RankedTensorType::get({batch}, i32),
                    FRIT_STATE_LENGTH);
  Value list =
      addState("tokens", RankedTensorType::get({batch, context + 1}, i32),
               FRIT_STATE_TOKENS);
  Value next =
      nn::GatherElementsOp::create(b, list, b.reshape(length, {batch, 1}), 1);
  if (takesTokens())
    list = nn::UpdateOp::create(b, list, tokenIds, length, 1);
  giveInputs(takesTokens() ? tokenIds : next);
  for (const Cache &cache : caches) {
    Value after = bind(cache);
    states.back().second = after;
  }

  Operation *end = main.getBody().front().getTerminator();
  b.setInsertionPoint(end);
  b.setLoc(main.getLoc());
  bool verifies = role == FRIT_FUNCTION_VERIFY;
  Value rows = verifies ? b.cast(logits, b.getF32Type()) : lastRows(count);
  Value best = b.cast(nn::ArgMaxOp::create(b, rows, -1, 1, 0), i32);
  SmallVector<std::pair<StringRef, Value>> outputs{{"logits", rows}};
  Value added = takesTokens() ? count : Value(b.scalarLike(length, 1));
  if (verifies) {
    Value likeliest = b.reshape(best, {batch, tokens});
    decoder::Verified verified =
        decoder::acceptGuesses(b, tokenIds, likeliest, count);
    best = verified.next;
    added = verified.kept;
    outputs.push_back({"likeliest", likeliest});
  }
  if (takesTokens()) {
    Value any = nn::GreaterOp::create(b, count, b.scalarLike(count, 0));
    best = nn::WhereOp::create(b, b.reshape(any, {batch, 1}), best, next);
  }
  Value after = b.add(length, added);
  states[0].second =
      nn::UpdateOp::create(b, length, after, /*offset=*/nullptr, /*axis=*/0);
  states[1].second = nn::UpdateOp::create(b, list, best, after, 1);

  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  for (auto [name, value] : outputs) {
    results.push_back(value);
    attributes.push_back(
        b.getDictionaryAttr(b.getNamedAttr("nn.name", b.getStringAttr(name))));
  }
  for (auto &[name, value] : states) {
    results.push_back(value);
    attributes.push_back(b.getDictionaryAttr(b.getNamedAttr(
        "nn.state", FlatSymbolRefAttr::get(b.getContext(), name))));
  }
  end->setOperands(results);
  llvm::BitVector old(main.getNumArguments());
  old.set(0, given);
  if (failed(main.eraseArguments(old)))
    return failure();
  main.setFunctionType(b.getFunctionType(main.getBody().getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  main.setAllResultAttrs(attributes);
  return verify(main->getParentOp());
}

LogicalResult decoder::bindCaches(ModuleOp module, int64_t batch,
                                  int64_t context, int64_t tokens,
                                  frit_function_role role) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  return CacheBinder(main, batch, context, tokens, role).run();
}
