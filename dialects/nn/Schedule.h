//===- Schedule.h - The interface of schedules ----------------------------===//

#ifndef FRIT_DIALECTS_NN_SCHEDULE_H
#define FRIT_DIALECTS_NN_SCHEDULE_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/nn/Schedule.h.inc"

#endif // FRIT_DIALECTS_NN_SCHEDULE_H
