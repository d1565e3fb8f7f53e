//===- IndexChecks.cpp - Indices that must be in range --------------------===//
//
// Constant indices are checked here. Those that are elements of an input get a
// range there, which the runtime checks on the host. Others are clamped when
// they are used; if the user asks for it, the model also checks them all.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/IndexCheck.h"
#include "compiler/onnx/reader/Expr.h"

#include "dialects/nn/Fold.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns the numbers that are in a tensor, if they are known: those of a
/// table that is repeated are known where the tensor itself is too large to be.
static DenseElementsAttr knownNumbers(Value value) {
  DenseElementsAttr known = nn::constantValue(value, mostInTable);
  const bool isEmpty = nn::tensorType(value).getNumElements() == 0;
  while (!known && !isEmpty &&
         isa_and_present<nn::ExpandOp, nn::ReshapeOp, nn::TransposeOp>(
             value.getDefiningOp())) {
    value = value.getDefiningOp()->getOperand(0);
    known = nn::constantValue(value, mostInTable);
  }
  return known;
}

/// Holds the elements of inputs to the ranges of `indices`, and others if the
/// user asks for that.
void Node::checkRanges(Value indices, ArrayRef<nn::IndexRange> ranges) {
  if (state.mayBeUnused || failed)
    return;
  std::string name = "node '" + scope.prefix + ownName(proto) + "' ";
  SmallVector<nn::IndexRange> all(ranges);
  for (nn::IndexRange &range : all) {
    range.use = name + range.use;
    state.indexUses.add(unmarked(indices), range);
  }
  if (!state.checksIndices() || !nn::tensorType(indices).getNumElements())
    return;
  nn::IndexRange whole =
      nn::wholeRange(nn::shapeOf(unmarked(indices)), all[0].least, all[0].most,
                     all.size() == 1 ? all[0].use : name + "indexes tuples");
  whole.other = all[0].other;
  nn::NNBuilder b(loc, builder());
  Value given = masked(indices, scalar(elementOf(indices), 0));
  state.addCheck(buildIndexCheck(b, given, all), whole.use,
                 nn::indicesAttr(*context(), whole));
}

bool Node::checkIndices(Value indices, ArrayRef<int64_t> limits) {
  if (!indices || limits.empty() || !isa<IntegerType>(elementOf(indices)))
    return true;
  // What bounds a number of a tuple is its place.
  DenseElementsAttr known = limits.size() == 1
                                ? knownNumbers(indices)
                                : nn::constantValue(indices, mostInTable);
  if (!known) {
    SmallVector<nn::IndexRange> ranges;
    for (auto [i, limit] : llvm::enumerate(limits)) {
      std::string use = "indexes entries of '" + proto.input(0) + "'";
      ranges.push_back(nn::wholeRange(nn::shapeOf(indices), -limit, limit - 1,
                                      std::move(use)));
      if (limits.size() == 1)
        continue;
      ranges.back().first.back() = int64_t(i);
      ranges.back().sizes.back() = 1;
    }
    checkRanges(indices, ranges);
    return true;
  }
  for (auto [i, index] : llvm::enumerate(known.getValues<APInt>())) {
    int64_t limit = limits[i % limits.size()], place = index.getSExtValue();
    if (place >= -limit && place < limit)
      continue;
    error() << "index " << place << " is out of range for a dimension of "
            << limit << (limit == 1 ? " entry" : " entries");
    return false;
  }
  return true;
}

void Node::checkNumbers(Value numbers, int64_t least, int64_t most,
                        const Twine &use, std::optional<int64_t> other) {
  if (!numbers || !isa<IntegerType>(elementOf(numbers)))
    return;
  if (DenseElementsAttr known = knownNumbers(numbers)) {
    const bool isUnsigned = known.getElementType().isUnsignedInteger();
    for (const APInt &each : known.getValues<APInt>()) {
      auto number = isUnsigned ? static_cast<int64_t>(each.getZExtValue())
                               : each.getSExtValue();
      if ((number >= least && number <= most) || number == other)
        continue;
      error() << use << ": " << number << " is out of range, " << least
              << " to " << most;
      return;
    }
    return;
  }
  nn::IndexRange range =
      nn::wholeRange(nn::shapeOf(numbers), least, most, use.str());
  range.other = other;
  checkRanges(numbers, range);
}
