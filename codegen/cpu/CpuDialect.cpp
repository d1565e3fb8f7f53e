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

llvm::LogicalResult
frit::cpu::GemmAttr::buildStep(mlir::ImplicitLocOpBuilder &b,
                               nn::Problem &problem,
                               const plan::CallBuffers &buffers) const {
  return plan::buildGemm(b, problem, libraryAlgorithm(), buffers);
}

llvm::LogicalResult
frit::cpu::ConvAttr::buildStep(mlir::ImplicitLocOpBuilder &b,
                               nn::Problem &problem,
                               const plan::CallBuffers &buffers) const {
  return plan::buildConv(b, problem, libraryAlgorithm(), buffers);
}
