//===- Loss.h - Losses ----------------------------------------------------===//
//
// Apart from NN.h, because few files need it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_TRAINING_LOSS_H
#define FRIT_DIALECTS_NN_TRAINING_LOSS_H

#include "dialects/nn/NN.h"

#define GET_OP_CLASSES
#include "dialects/nn/Loss.h.inc"

#endif // FRIT_DIALECTS_NN_TRAINING_LOSS_H
