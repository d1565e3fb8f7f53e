//===- ListBuffers.cpp - Buffers of a command list ------------------------===//

#include "compiler/planning/ListBuffers.h"
#include "compiler/planning/InPlace.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace frit;
using namespace frit::planning;

static MemRefType bufferType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

static int64_t elementBytes(Type tensor) {
  return plan::byteSize(cast<RankedTensorType>(tensor).clone({1}));
}

/// Returns the shards that ranks gather to `value`, or `value` itself.
static Value throughGather(Value value) {
  auto gather = nn::throughReshapes(value).getDefiningOp<nn::AllGatherOp>();
  return gather ? gather.getX() : value;
}

//===----------------------------------------------------------------------===//
// Create
//===----------------------------------------------------------------------===//

Value ListBuffers::create(Type tensor, plan::Space space,
                          std::optional<int64_t> index, StringAttr symbol,
                          std::optional<int64_t> offset) {
  auto attr = [&](std::optional<int64_t> v) {
    return v ? b.getI64IntegerAttr(*v) : IntegerAttr();
  };
  return plan::BufferOp::create(b, bufferType(tensor), space, attr(index),
                                symbol, attr(offset));
}

Value ListBuffers::createFor(Value result) {
  // Steps in a guard may not run.
  if (nn::PackOp pack = packs.lookup(result);
      pack && isa<plan::CommandListOp>(b.getBlock()->getParentOp()))
    clearGaps(pack);
  auto it = destination.find(result);
  Value buffer = it == destination.end() ? createInArena(result.getType())
                                         : view(it->second, result.getType());
  set(result, buffer);
  return buffer;
}

Value ListBuffers::createTied(nn::FusionOp fusion, unsigned result,
                              unsigned operand) {
  Value value = fusion.getResult(result);
  Value before = of(fusion.getInputs()[operand]);
  bool isState = replacements.contains(value);
  if (isState && mayReplace(fusion, operand)) {
    Value buffer = view(before, value.getType());
    set(value, buffer);
    return buffer;
  }
  Value buffer = createFor(value);
  plan::CopyOp::create(b, view(before, value.getType()), buffer);
  remark::missed(fusion.getLoc(),
                 remark::RemarkOpts::name("Copy").category("plan"))
      << remark::add("copies {0} bytes to replace a part of them: {1}",
                     plan::byteSize(value.getType()),
                     isState ? "the old value is read later"
                             : "they are no state");
  return buffer;
}

Value ListBuffers::view(Value buffer, Type tensor) {
  MemRefType type = bufferType(tensor);
  return buffer.getType() == type
             ? buffer
             : Value(plan::ViewOp::create(b, type, buffer, 0));
}

Value ListBuffers::part(Value whole, int64_t offset, Type tensor) {
  return plan::ViewOp::create(b, bufferType(tensor), whole,
                              offset * elementBytes(tensor));
}

//===----------------------------------------------------------------------===//
// Bind
//===----------------------------------------------------------------------===//

LogicalResult ListBuffers::bind(plan::Space resultSpace,
                                ArrayRef<int64_t> prepared) {
  if (failed(bindArguments(prepared)))
    return failure();
  if (failed(bindResults(resultSpace, prepared)))
    return failure();
  bindPacks();
  return success();
}

LogicalResult ListBuffers::bindArguments(ArrayRef<int64_t> prepared) {
  for (BlockArgument argument : function.getArguments()) {
    if (auto state = function.getArgAttrOfType<FlatSymbolRefAttr>(
            argument.getArgNumber(), "nn.state")) {
      set(argument,
          create(argument.getType(), plan::Space::state, {}, state.getAttr()));
      states[state.getAttr()] = argument;
      continue;
    }
    auto index = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                        "nn.prepared");
    if (!index) {
      set(argument,
          create(argument.getType(), plan::Space::input, inputs.size()));
      inputs.push_back(argument.getType());
      continue;
    }
    if (index.getInt() < 0 || index.getInt() >= int64_t(prepared.size()))
      return function.emitError() << "nn.prepared = " << index.getInt()
                                  << " is no result of @prepare";
    set(argument, create(argument.getType(), plan::Space::prepared, {}, nullptr,
                         prepared[index.getInt()]));
  }
  return success();
}

/// Creates the buffers of the results. The fusion that computes a result,
/// possibly reshaped, writes there directly. Verifies that each state's next
/// value is tied to the state.
LogicalResult ListBuffers::bindResults(plan::Space space,
                                       ArrayRef<int64_t> prepared) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    if (auto state =
            function.getResultAttrOfType<FlatSymbolRefAttr>(i, "nn.state")) {
      BlockArgument before = states.lookup(state.getAttr());
      if (!before || tiedArgument(value) != before)
        return function.emitError()
               << "result " << i << " is no nn.update of the argument that is "
               << state;
      results.push_back(of(before));
      nn::UpdateOp replacement = replacementOf(value);
      if (replacement)
        replaced[replacement] = results.back();
      Value made = replacement ? throughGather(replacement.getValue()) : value;
      if (bindReplacements(before, made))
        continue;
      if (overwritesState && mayOverwrite(before, made))
        destination.try_emplace(nn::throughReshapes(made), results.back());
      continue;
    }
    if (space == plan::Space::output) {
      results.push_back(create(value.getType(), space, outputs.size()));
      outputs.push_back(value.getType());
    } else {
      results.push_back(
          create(value.getType(), space, {}, nullptr, prepared[i]));
    }
    Value source = nn::throughReshapes(value);
    if (source.getDefiningOp<nn::FusionOp>())
      destination.try_emplace(source, results.back());
  }
  return success();
}

/// Finds the fusions that replace rows of a state, one after another. Returns
/// whether its next value is made of such.
bool ListBuffers::bindReplacements(BlockArgument before, Value after) {
  SmallVector<Value> chain;
  Value value = nn::throughReshapes(after);
  while (auto fusion = value.getDefiningOp<nn::FusionOp>()) {
    auto operand = fusion.replacedOperand(cast<OpResult>(value));
    if (!operand)
      return false;
    chain.push_back(value);
    value = nn::throughReshapes(fusion.getInputs()[*operand]);
  }
  if (value != before)
    return false;
  replacements.insert(chain.begin(), chain.end());
  return !chain.empty();
}

/// Creates the buffers of packs. The fusion that computes a part, possibly
/// reshaped, writes there directly.
void ListBuffers::bindPacks() {
  for (auto pack : function.getBody().front().getOps<nn::PackOp>()) {
    Value whole = createInArena(pack.getY().getType());
    set(pack.getY(), whole);
    bool changes = isReduced(pack.getY());
    for (auto [x, offset] : llvm::zip(pack.getXs(), pack.getOffsets())) {
      Value source = nn::throughReshapes(x);
      // A pack that is reduced in place must not hold what others read.
      if (source.getDefiningOp<nn::FusionOp>() &&
          (!changes || hasOneReader(source)))
        if (destination
                .try_emplace(source, part(whole, offset, source.getType()))
                .second)
          packs[source] = pack;
    }
  }
}

//===----------------------------------------------------------------------===//
// Copy what was not written in place
//===----------------------------------------------------------------------===//

/// Copies zeros to the elements of a pack that no part covers, once. That is
/// done before the first part is written, early in a backward pass, because
/// copies end concurrent branches of kernels (Fork.cpp).
void ListBuffers::clearGaps(nn::PackOp pack) {
  if (!cleared.insert(pack).second)
    return;
  auto type = cast<RankedTensorType>(pack.getY().getType());
  int64_t end = 0;
  auto clearTo = [&](int64_t offset) {
    if (offset == end)
      return;
    auto gap = type.clone({offset - end});
    auto value =
        DenseElementsAttr::get(gap, b.getZeroAttr(gap.getElementType()));
    Value zeros =
        createConstant(gap, constants.get("zeros", value, pack.getLoc()));
    plan::CopyOp::create(b, zeros, part(of(pack.getY()), end, gap));
  };
  for (auto [x, offset] : llvm::zip(pack.getXs(), pack.getOffsets())) {
    clearTo(offset);
    end = offset + nn::tensorType(x).getNumElements();
  }
  clearTo(pack.getSize());
}

void ListBuffers::fill(nn::PackOp pack) {
  clearGaps(pack);
  auto type = cast<RankedTensorType>(pack.getY().getType());
  Value whole = of(pack.getY());
  for (auto [x, offset] : llvm::zip(pack.getXs(), pack.getOffsets())) {
    Value place = part(whole, offset, x.getType()), source = of(x);
    uint64_t at = 0;
    if (plan::rootOf(source, &at) != plan::rootOf(place) ||
        at != uint64_t(offset * elementBytes(type)))
      plan::CopyOp::create(b, source, place);
  }
}

bool ListBuffers::isInPlace(nn::UpdateOp replacement) const {
  Value state = replaced.lookup(replacement);
  return !state ||
         plan::rootOf(of(replacement.getValue())) == plan::rootOf(state);
}

void ListBuffers::replace(nn::UpdateOp replacement) {
  Value source = of(replacement.getValue()), result = replacement.getY();
  set(result, source);
  if (isInPlace(replacement))
    return;
  Value state = replaced.lookup(replacement);
  bool isRead = isReadAfter(replacement, tiedArgument(result));
  if (overwritesState || isRead)
    remark::missed(replacement.getLoc(),
                   remark::RemarkOpts::name("Copy").category("plan"))
        << remark::add("copies {0} bytes to replace a state: {1}",
                       plan::byteSize(result.getType()),
                       isRead ? "the old value is read later"
                              : "no kernel can write its next value in place");
  if (!isRead) {
    plan::CopyOp::create(b, view(source, result.getType()), state);
    set(result, state);
  } else if (plan::rootOf(source).getSpace() == plan::Space::state) {
    // The other state may be replaced before the end.
    Value kept = createInArena(result.getType());
    plan::CopyOp::create(b, view(source, result.getType()), kept);
    set(result, kept);
  }
}

void ListBuffers::storeResults() {
  Operation *terminator = function.getBody().front().getTerminator();
  // Outputs first: they may be the value of a state before the call.
  for (bool ofStates : {false, true})
    for (auto [value, result] : llvm::zip(terminator->getOperands(), results)) {
      Value source = of(value);
      bool isState = plan::rootOf(result).getSpace() == plan::Space::state;
      if (isState == ofStates && plan::rootOf(source) != plan::rootOf(result))
        plan::CopyOp::create(b, view(source, value.getType()), result);
    }
}
