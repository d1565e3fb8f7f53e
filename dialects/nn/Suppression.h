//===- Suppression.h - Candidates that take others out ----------*- C++ -* ===//
//
// What is rarely read, so that NN.h does not have it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_SUPPRESSION_H
#define FRIT_DIALECTS_NN_SUPPRESSION_H

#include "dialects/nn/NN.h"

#define GET_OP_CLASSES
#include "dialects/nn/Suppression.h.inc"

#endif // FRIT_DIALECTS_NN_SUPPRESSION_H
