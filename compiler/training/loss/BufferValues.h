//===- BufferValues.h - Tell buffers from parameters by their values ------===//

#ifndef FRIT_COMPILER_TRAINING_LOSS_BUFFERVALUES_H
#define FRIT_COMPILER_TRAINING_LOSS_BUFFERVALUES_H

#include "dialects/nn/NN.h"

namespace frit {

/// Returns whether a weight has a buffer's name, or values that no parameter
/// has, be it random, trained or uniform: only two different numbers or an
/// infinite one, as in masks; or rows or columns that form an arithmetic or
/// geometric progression or a sine, as in positions, their frequencies and
/// tables.
bool looksLikeBuffer(nn::ConstantOp weight);

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_LOSS_BUFFERVALUES_H
