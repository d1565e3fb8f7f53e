//===- BufferValues.h - Tell buffers from parameters by their values ------===//

#ifndef FRIT_COMPILER_TRANSFORM_TRAINING_BUFFERVALUES_H
#define FRIT_COMPILER_TRANSFORM_TRAINING_BUFFERVALUES_H

#include "dialects/nn/NN.h"

namespace frit {

/// Returns whether a weight is named as buffers are, or has values that none
/// has that was drawn at random, trained, or set to one number: two numbers
/// only, as a mask, infinity, or rows or columns in arithmetic or geometric
/// progression or on a sine, as positions, their frequencies and their tables.
bool looksLikeBuffer(nn::ConstantOp weight);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_TRAINING_BUFFERVALUES_H
