//===- CacheInputs.cpp - Inputs and outputs of decoders with caches -------===//

#include "compiler/decoder/caches/CacheBinder.h"
#include "dialects/nn/constants/ConstantValues.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

/// Finds tokens, positions and the mask; caches follow from the outputs.
LogicalResult CacheBinder::findInputs() {
  SmallVector<int64_t> own{batch, tokens}, all{batch, keyCount()};
  for (BlockArgument argument : main.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = nn::tensorType(argument);
    bool isNumber = type.getElementType().isIntOrIndex();
    if (llvm::any_of(caches,
                     [&](Cache &cache) { return cache.argument == number; }))
      continue;
    StringRef name = nameOf(number);
    if (places && isOfSource(name)) {
      if (failed(findSource(argument)))
        return failure();
      continue;
    }
    bool ofTokens = type.getShape() == ArrayRef(own),
         ofKeys = type.getShape() == ArrayRef(all);
    if (isNumber && name.contains("position") &&
        (ofTokens || (batch == 1 && type.getShape() == ArrayRef(tokens)))) {
      positions.push_back(number);
      continue;
    }
    std::optional<unsigned> *role =
        !isNumber                                        ? nullptr
        : ofTokens && !(ofKeys && name.contains("mask")) ? &ids
        : ofKeys                                         ? &mask
                                                         : nullptr;
    if (!role || *role)
      return emitError(argument.getLoc())
             << "of type " << type
             << " is none of a decoder's with --context: tokens and positions, "
             << batch << "x" << tokens << ", a mask of keys, " << batch << "x"
             << keyCount()
             << ", and caches to which the model appends rows; "
                "-fconst-input="
             << name << "=@FILE makes it a constant";
    *role = number;
  }
  return checkFound();
}

/// Finds what an input of a source is for.
LogicalResult CacheBinder::findSource(BlockArgument argument) {
  auto type = nn::tensorType(argument);
  if (argument.use_empty())
    return success();
  if (isa<FloatType>(type.getElementType())) {
    sources.push_back(argument.getArgNumber());
    return success();
  }
  if (sourceMask || type.getShape() != ArrayRef<int64_t>{batch, places})
    return emitError(argument.getLoc())
           << "of type " << type
           << " is no mask of the source's places, integers of " << batch << "x"
           << places;
  sourceMask = argument.getArgNumber();
  return success();
}

LogicalResult CacheBinder::checkFound() {
  if (!ids || main.getArgument(*ids).use_empty())
    return error() << "has no input of tokens, integers of batch x sequence, "
                      "which --context needs";
  llvm::erase_if(positions, [&](unsigned argument) {
    return main.getArgument(argument).use_empty();
  });
  if (mask && main.getArgument(*mask).use_empty())
    mask.reset();
  if (places && sources.empty())
    return error() << "reads nothing that an encoder gives: no input whose "
                      "name has 'encoder', as past_key_values.0.encoder.key";
  return success();
}

/// Adds a cache that is an input with rows after it.
LogicalResult CacheBinder::addAppended(nn::ConcatOp all, StringRef name) {
  auto past = cast<BlockArgument>(all.getXs()[0]);
  ArrayRef<int64_t> shape = nn::shapeOf(past);
  int64_t axis = nn::axisOf(past, all.getAxis());
  if (axis == 0 || shape[0] != batch || shape[axis] != context ||
      nn::shapeOf(all.getXs()[1])[axis] != tokens)
    return error() << "output '" << name << "' appends "
                   << nn::shapeText(nn::shapeOf(all.getXs()[1]))
                   << " to input '" << nameOf(past.getArgNumber()) << "' of "
                   << nn::shapeText(shape) << ", which is no cache of "
                   << context << " entries for each of " << batch
                   << " sequences";
  caches.push_back({past.getArgNumber(), all.getY(), axis, std::nullopt});
  return success();
}

/// Adds a cache of a fixed size into which the call writes rows.
LogicalResult CacheBinder::addWritten(Value all, WrittenCache written,
                                      StringRef name) {
  ArrayRef<int64_t> shape = nn::shapeOf(all);
  if (written.axis == 0 || shape[0] != batch || written.rows != tokens)
    return error() << "output '" << name << "' writes " << written.rows
                   << " rows along dimension " << written.axis << " of input '"
                   << nameOf(written.past.getArgNumber()) << "' of "
                   << nn::shapeText(shape)
                   << ", which is no cache for calls of " << tokens
                   << " tokens of " << batch << " sequences";
  if (shape[written.axis] != context)
    return error() << "caches have " << shape[written.axis]
                   << " entries, a size that the model fixes: --context="
                   << shape[written.axis];
  if (batch != 1 && !written.offset)
    return error() << "writes rows of all sequences at the same places of "
                      "caches of a fixed size, which --context supports with "
                      "--batch=1 alone";
  caches.push_back({written.past.getArgNumber(), all, written.axis, written});
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
    if (all && all.getXs().size() == 2 && isa<BlockArgument>(all.getXs()[0])) {
      if (failed(addAppended(all, name.getValue())))
        return failure();
    } else if (auto written = findWritten(value)) {
      if (failed(addWritten(value, *written, name.getValue())))
        return failure();
    } else {
      others.push_back({name.getValue(), value});
    }
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
  return checkLogits();
}

/// Returns what chooses the last token for a value, the only way from the
/// tokens to it.
static nn::SliceOp findLastToken(Value value, ArrayRef<int64_t> tokens) {
  while (Operation *def = value.getDefiningOp()) {
    auto slice = dyn_cast<nn::SliceOp>(def);
    ArrayRef<int64_t> shape =
        slice ? nn::shapeOf(slice.getX()) : ArrayRef<int64_t>();
    if (slice && shape.size() == 3 && shape.take_front(2) == tokens)
      return slice.getStarts() == ArrayRef<int64_t>{0, tokens[1] - 1, 0} &&
                     slice.getSizes() ==
                         ArrayRef<int64_t>{tokens[0], 1, shape[2]}
                 ? slice
                 : nn::SliceOp();
    // The other operands, as weights, depend on no token.
    Value next;
    for (Value operand : def->getOperands())
      if (!nn::mayEvaluate(operand)) {
        if (next && next != operand)
          return {};
        next = operand;
      }
    if (!next)
      return {};
    value = next;
  }
  return {};
}

/// Checks that there are logits of each token, or of the last one alone, as
/// where exporters prune the head.
LogicalResult CacheBinder::checkLogits() {
  ArrayRef<int64_t> shape = nn::shapeOf(logits);
  bool isKnown = shape.size() == 3 && shape[0] == batch && shape[2] >= 1 &&
                 isa<FloatType>(nn::tensorType(logits).getElementType());
  if (isKnown && shape[1] == tokens)
    return success();
  if (isKnown && shape[1] == 1)
    last = findLastToken(logits, {batch, tokens});
  if (last && role == FRIT_FUNCTION_VERIFY)
    return error() << "has logits of the last token alone, and --verify needs "
                      "those of each";
  if (last)
    return success();
  return error() << "the logits are " << nn::tensorType(logits)
                 << ", but --context needs floats for each token: " << batch
                 << "x" << tokens << "xVOCABULARY";
}

/// Checks that nothing reads a cache but its output.
LogicalResult CacheBinder::checkCaches() {
  llvm::SmallDenseSet<unsigned> seen;
  for (Cache &cache : caches) {
    BlockArgument past = main.getArgument(cache.argument);
    if (!seen.insert(cache.argument).second)
      return error() << "several outputs append to input '"
                     << nameOf(cache.argument) << "'";
    if (cache.written.has_value() != hasFixed())
      return error() << "appends to some caches and writes into others of a "
                        "fixed size, which --context does not support";
    for (Operation *user : past.getUsers())
      if (user !=
          (cache.written ? cache.written->reader : cache.all.getDefiningOp()))
        return emitError(user->getLoc())
               << "reads the cache '" << nameOf(cache.argument)
               << "' beside the output that appends to it, which --context "
                  "does not support";
  }
  return success();
}

/// Checks that rows of caches of a fixed size are written at the positions of
/// their tokens.
LogicalResult CacheBinder::checkPlaces() {
  SmallVector<BlockArgument> inputs;
  for (unsigned argument : positions)
    inputs.push_back(main.getArgument(argument));
  for (const Cache &cache : caches) {
    if (!cache.written)
      continue;
    if (cache.written->offset) {
      if (!mask || !writesBehindMask(*cache.written, main.getArgument(*mask)))
        return emitError(cache.all.getLoc())
               << "writes into the cache '" << nameOf(cache.argument)
               << "' elsewhere than behind the entries that an input of a mask "
                  "of keys counts, which --context does not support";
      continue;
    }
    if (!writesAtPositions(*cache.written, inputs, context))
      return emitError(cache.all.getLoc())
             << "writes into the cache '" << nameOf(cache.argument)
             << "' elsewhere than at an input of positions, which --context "
                "does not support";
  }
  return success();
}
