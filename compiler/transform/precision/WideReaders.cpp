//===- WideReaders.cpp - Values that must stay f32 ------------------------===//

#include "compiler/transform/precision/WideReaders.h"

#include "compiler/transform/Names.h"
#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;
using namespace frit::precision;

/// Returns whether one of the patterns `keep` names a node of the operator.
bool precision::isNamed(ArrayRef<std::string> keep, Operation *op) {
  return !keep.empty() && llvm::any_of(nodeNamesOf(op), [&](StringRef name) {
    return matchesAny(keep, name);
  });
}

WideReaders::WideReaders(ArrayRef<std::string> keep, Block &block)
    : kept(keep) {
  for (Operation &op : llvm::reverse(block))
    for (Value result : op.getResults())
      readers[result] = readersOf(result);
  for (BlockArgument argument : block.getArguments())
    readers[argument] = readersOf(argument);
}

WideReaders::Readers WideReaders::readersOf(Value value) const {
  Readers found;
  found.all = !value.use_empty();
  for (OpOperand &use : value.getUses()) {
    Operation *reader = use.getOwner();
    found.mask |= takesMask(use);
    if (preservesPrecision(reader))
      found.mask |= readers.lookup(reader->getResult(0)).mask;
    bool wide =
        staysWide(reader) || findsElements(reader) || isNamed(kept, reader);
    bool all = wide;
    found.angle |= takesAngles(reader);
    if (!wide && passes(reader)) {
      Readers next = readers.lookup(reader->getResult(0));
      wide = next.some;
      all = next.all;
      found.angle |= next.angle;
      found.result |= next.result;
    }
    found.some |= wide;
    found.all &= all;
    found.result |= reader->hasTrait<OpTrait::IsTerminator>();
  }
  for (OpOperand &use : value.getUses()) {
    Operation *reader = use.getOwner();
    found.position |= isPosition(use) || findsPosition(reader);
    found.log |= isa<LogOp>(reader) || findsLog(reader);
    found.sum |=
        sums(reader) || (movesElements(reader) && sum(reader->getResult(0)));
  }
  return found;
}
