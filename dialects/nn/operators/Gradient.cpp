//===- Gradient.cpp - Operators of the backward pass ----------------------===//
//
// The files of gradients/ have their shapes and meaning, beside the gradients
// that are made of them.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/operators/Gradient.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Gradient.cpp.inc"
