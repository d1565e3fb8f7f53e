//===- CpuDialect.cpp - The schedules of the cpu target -------------------===//

#include "codegen/cpu/CpuDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

#include "codegen/cpu/Dialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "codegen/cpu/Attributes.cpp.inc"

void frit::cpu::CpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "codegen/cpu/Attributes.cpp.inc"
      >();
}
