//===- Logarithms.h - Logarithms near 0 and near 1 -------------*- C++ -* -===//
//
// Internal to codegen/cpu.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CPU_LOGARITHMS_H
#define FRIT_CODEGEN_CPU_LOGARITHMS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace frit::cpu {

/// Builds the logarithm of an f32 or a vector of f32 by math.log, whose
/// polynomial takes subnormal numbers for the least normal one.
mlir::Value buildLog(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// Builds log(1 + x) of floats of any type by math.log, to within a few units
/// in the last place also where 1 + x rounds to 1.
mlir::Value buildLog1p(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_LOGARITHMS_H
