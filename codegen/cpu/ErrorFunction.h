//===- ErrorFunction.h - erf by polynomials and exp ------------*- C++ -* -===//
//
// Internal to codegen/cpu.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CPU_ERRORFUNCTION_H
#define FRIT_CODEGEN_CPU_ERRORFUNCTION_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace frit::cpu {

/// Builds the error function of an f32 or a vector of f32, to within 6 units in
/// the last place, with math.fma. It is between -1 and 1.
mlir::Value buildErf(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_ERRORFUNCTION_H
