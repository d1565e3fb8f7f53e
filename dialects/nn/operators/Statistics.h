//===- Statistics.h - Statistics of columns -------------------------------===//
//
// Apart from NN.h, because few files need it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_OPERATORS_STATISTICS_H
#define FRIT_DIALECTS_NN_OPERATORS_STATISTICS_H

#include "dialects/nn/NN.h"

#define GET_OP_CLASSES
#include "dialects/nn/Statistics.h.inc"

#endif // FRIT_DIALECTS_NN_OPERATORS_STATISTICS_H
