//===- Gradient.cpp - Operators of the backward pass ----------------------===//
//
// The files of gradients/ define their shapes and decompositions, beside the
// gradients that use them.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/training/Gradient.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Gradient.cpp.inc"
