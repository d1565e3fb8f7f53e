//===- CpuDialect.h - The schedules of the cpu target ---------------------===//

#ifndef FRIT_CODEGEN_CPU_CPUDIALECT_H
#define FRIT_CODEGEN_CPU_CPUDIALECT_H

#include "dialects/nn/Schedule.h"
#include "dialects/plan/LibraryCall.h"

#include "mlir/IR/Dialect.h"

#include "codegen/cpu/Dialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "codegen/cpu/Attributes.h.inc"

#endif // FRIT_CODEGEN_CPU_CPUDIALECT_H
