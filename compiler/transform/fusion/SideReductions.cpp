//===- SideReductions.cpp - Sums of columns in kernels that reduce rows ---===//
//
//   %dx = nn.fusion(%dy, %x, …) { … nn.reduce {axes = [1]} … }
//   %p = nn.fusion(%dy', %x') { … nn.reduce {axes = [1]} … }   column sums of
//   %q = nn.fusion(%dx') { … nn.reduce {axes = [1]} … }        parts of rows
// ==>
//   %dx, %p, %q = nn.fusion(%dy, %x, …) { … }
//
// where %dy', %x' and %dx' are reshapes to parts × rows × columns. The gradient
// of a layer norm reduces rows. The gradients of its scale and bias, and of a
// bias added to its operand, are column sums of the same tensors and of its
// result, which separate kernels (SplitReductions.cpp) would read again. The
// kernels that add up the parts become one fusion too.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/fusion/SideKinds.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static bool hasReductions(FusionOp fusion,
                          llvm::function_ref<bool(ReduceOp)> all) {
  auto reduces = fusion.getBody().front().getOps<ReduceOp>();
  return !reduces.empty() && llvm::all_of(reduces, all);
}

/// Returns whether a fusion reduces rows, and possibly sums columns.
static bool reducesRows(FusionOp fusion) {
  return llvm::any_of(
      fusion.getBody().front().getOps<ReduceOp>(), [](ReduceOp op) {
        return op.getAxes().back() == tensorType(op.getX()).getRank() - 1;
      });
}

/// Returns whether a fusion has sums over the rows of parts only.
static bool sumsColumns(FusionOp fusion) {
  return hasReductions(fusion, [](ReduceOp op) {
    return tensorType(op.getX()).getRank() == 3 &&
           op.getAxes() == ArrayRef<int64_t>{1} &&
           op.getKind() == Combiner::sum;
  });
}

/// Maximum operators that move after the joined fusion.
static constexpr size_t kMostReaders = 16;

/// Returns the elements of the largest input or result.
static int64_t mostElements(FusionOp fusion) {
  int64_t most = 0;
  for (Value input : fusion.getInputs())
    most = std::max(most, tensorType(input).getNumElements());
  for (Value result : fusion.getResults())
    most = std::max(most, tensorType(result).getNumElements());
  return most;
}

/// Returns whether `value` has more than half of `most` elements.
static bool isLarge(Value value, int64_t most) {
  return 2 * tensorType(value).getNumElements() > most;
}

/// Returns the places from `first` on, in order, of fusions that read a large
/// input or result of `rows`, reshaped or not.
static SmallVector<size_t>
findReaders(FusionOp rows, const llvm::DenseMap<Operation *, size_t> &places,
            size_t first) {
  int64_t most = mostElements(rows);
  llvm::SetVector<Value> values;
  for (Value input : rows.getInputs())
    if (isLarge(input, most))
      values.insert(throughReshapes(input));
  for (Value result : rows.getResults())
    if (isLarge(result, most))
      values.insert(result);
  SmallVector<size_t> found;
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        values.insert(reshape.getY());
      else if (auto place = places.find(user);
               place != places.end() && place->second >= first)
        found.push_back(place->second);
    }
  llvm::sort(found);
  found.erase(llvm::unique(found), found.end());
  return found;
}

/// Finds the operands of `sums` in the joined fusion: values of the body of
/// `rows`, by operand; null for an operand of its own.
static FailureOr<SmallVector<Value>> findOperands(FusionOp rows,
                                                  FusionOp sums) {
  int64_t most = mostElements(rows);
  Block &body = rows.getBody().front();
  SmallVector<Value> found;
  bool shares = false;
  for (Value operand : sums.getInputs()) {
    Value base = throughReshapes(operand), inside;
    if (base.getDefiningOp() == rows)
      inside = body.getTerminator()->getOperand(
          cast<OpResult>(base).getResultNumber());
    for (auto [input, argument] :
         llvm::zip(rows.getInputs(), body.getArguments()))
      if (throughReshapes(input) == base)
        inside = argument;
    bool large = isLarge(operand, most);
    if (!inside && (large || !isBefore(operand, rows)))
      return failure();
    shares |= inside && large;
    found.push_back(inside);
  }
  if (!shares)
    return failure();
  return found;
}

/// Builds a fusion of both before `rows`.
static FusionOp buildBoth(FusionOp rows, FusionOp sums,
                          ArrayRef<Value> operands) {
  SmallVector<Value> inputs(rows.getInputs());
  for (auto [operand, inside] : llvm::zip(sums.getInputs(), operands))
    if (!inside)
      inputs.push_back(operand);
  SmallVector<Type> types(rows.getResultTypes());
  llvm::append_range(types, sums.getResultTypes());
  OpBuilder b(rows);
  auto joined = FusionOp::create(b, fuseLocations({rows, sums}), types, inputs,
                                 Schedule());
  Block &body = joined.getBody().emplaceBlock();
  for (Value input : inputs)
    body.addArgument(input.getType(), input.getLoc());
  b.setInsertionPointToEnd(&body);
  IRMapping map;
  Block &first = rows.getBody().front(), &second = sums.getBody().front();
  map.map(first.getArguments(),
          body.getArguments().take_front(first.getNumArguments()));
  for (Operation &op : first.without_terminator())
    b.clone(op, map);
  size_t own = first.getNumArguments();
  NNBuilder nb(joined.getLoc(), b);
  for (auto [argument, inside] : llvm::zip(second.getArguments(), operands)) {
    nb.setInsertionPointToEnd(&body);
    map.map(argument, inside ? nb.reshape(map.lookup(inside), shapeOf(argument))
                             : body.getArgument(own++));
  }
  b.setInsertionPointToEnd(&body);
  for (Operation &op : second.without_terminator())
    b.clone(op, map);
  SmallVector<Value> results;
  for (Block *block : {&first, &second})
    for (Value value : block->getTerminator()->getOperands())
      results.push_back(map.lookup(value));
  YieldOp::create(b, joined.getLoc(), results);
  return joined;
}

/// Returns whether a fusion only sums parts that `source` computes.
static bool sumsParts(FusionOp fusion, FusionOp source) {
  return llvm::all_of(fusion.getBody().front().without_terminator(),
                      [](Operation &op) {
                        auto reduce = dyn_cast<ReduceOp>(op);
                        return reduce &&
                               tensorType(reduce.getX()).getRank() == 2 &&
                               reduce.getAxes() == ArrayRef<int64_t>{0};
                      }) &&
         llvm::all_of(fusion.getInputs(), [&](Value input) {
           auto reshape = input.getDefiningOp<ReshapeOp>();
           return reshape && reshape.getX().getDefiningOp() == source &&
                  input.getType() == fusion.getInputs().front().getType();
         });
}

/// Merges the fusions that sum parts which `source` computes.
static void joinSumsOfParts(FusionOp source) {
  llvm::SetVector<Operation *> found;
  for (Value result : source.getResults())
    for (Operation *user : result.getUsers())
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        for (Operation *reader : reshape.getY().getUsers())
          if (auto fusion = dyn_cast<FusionOp>(reader);
              fusion && sumsParts(fusion, source))
            found.insert(fusion);
  SmallVector<Operation *> order = found.takeVector();
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  FusionOp last;
  for (Operation *op : order) {
    auto fusion = cast<FusionOp>(op);
    if (!last || last.getInputs().front().getType() !=
                     fusion.getInputs().front().getType()) {
      last = fusion;
      continue;
    }
    // Move inputs, which are reshapes of results of `source`, before `last`.
    for (Value input : fusion.getInputs())
      if (Operation *def = input.getDefiningOp(); !isBefore(input, last))
        def->moveBefore(last);
    FusionOp both =
        buildBoth(last, fusion, SmallVector<Value>(fusion.getInputs().size()));
    size_t count = last.getNumResults();
    last.replaceAllUsesWith(both.getResults().take_front(count));
    fusion.replaceAllUsesWith(both.getResults().drop_front(count));
    last.erase();
    fusion.erase();
    last = both;
  }
}

/// Joins `sums` to `rows` if a kernel computes both; returns the fusion that
/// has replaced them.
static FusionOp joinReductions(FusionOp rows, FusionOp sums,
                               SideKernels kernels) {
  auto operands = findOperands(rows, sums);
  if (failed(operands))
    return {};
  // Operators that read the sums move behind the fusion of the rows.
  SmallVector<Operation *> readers;
  if (sums->isBeforeInBlock(rows)) {
    auto found = dependentsBefore(sums, rows, kMostReaders);
    if (!found)
      return {};
    readers = std::move(*found);
  }
  FusionOp joined = buildBoth(rows, sums, *operands);
  if (!takeOrErase(joined, kernels))
    return {};
  size_t count = rows.getNumResults();
  rows.replaceAllUsesWith(joined.getResults().take_front(count));
  sums.replaceAllUsesWith(joined.getResults().drop_front(count));
  for (Operation *op : llvm::reverse(readers))
    op->moveAfter(rows);
  return joined;
}

void frit::joinColumnReductions(Block &block, SideKernels kernels) {
  SmallVector<FusionOp> fusions(block.getOps<FusionOp>()), joined;
  llvm::DenseSet<Operation *> erased;
  // Fusions that sum columns and are not joined yet.
  llvm::DenseMap<Operation *, size_t> places;
  for (auto [place, fusion] : llvm::enumerate(fusions))
    if (sumsColumns(fusion))
      places[fusion] = place;
  for (FusionOp rows : fusions) {
    if (erased.contains(rows) || !reducesRows(rows))
      continue;
    bool joins = false;
    SmallVector<size_t> left = findReaders(rows, places, 0);
    for (size_t next = 0; next < left.size();) {
      size_t place = left[next++];
      FusionOp sums = fusions[place];
      if (sums == rows)
        continue;
      FusionOp both = joinReductions(rows, sums, kernels);
      if (!both)
        continue;
      for (FusionOp part : {rows, sums}) {
        erased.insert(part);
        places.erase(part);
        part.erase();
      }
      rows = both;
      joins = true;
      // Other readers of what `sums` reads may join now, too.
      left = findReaders(rows, places, place + 1);
      next = 0;
    }
    if (joins)
      joined.push_back(rows);
  }
  for (FusionOp fusion : joined)
    joinSumsOfParts(fusion);
}
