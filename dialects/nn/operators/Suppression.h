//===- Suppression.h - Non-maximum suppression ----------------------------===//
//
// Apart from NN.h, because few files need it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_OPERATORS_SUPPRESSION_H
#define FRIT_DIALECTS_NN_OPERATORS_SUPPRESSION_H

#include "dialects/nn/NN.h"

#define GET_OP_CLASSES
#include "dialects/nn/Suppression.h.inc"

#endif // FRIT_DIALECTS_NN_OPERATORS_SUPPRESSION_H
