//===- Activation.cpp - The nonlinearities of networks --------------------===//

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Activation.cpp.inc"
