//===- Elementwise.cpp - Elementwise operators ----------------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Elementwise.cpp.inc"

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (tensorType(getX()).getElementType() == getTo())
    return getX();
  return {};
}

bool CastOp::roundsTo16Bits() {
  Type from = tensorType(getX()).getElementType();
  return (getTo().isF16() || getTo().isBF16()) && from != getTo() &&
         from.getIntOrFloatBitWidth() > 8;
}
