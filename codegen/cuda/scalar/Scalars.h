//===- Scalars.h - Scalar operations as C++ text --------------------------===//
//
// A table from arith and math operation names to C++ expressions, and the text
// of types and constants.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_SCALAR_SCALARS_H
#define FRIT_CODEGEN_CUDA_SCALAR_SCALARS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace frit::cuda {

/// Precedence of C++ operators, lowest first.
enum Precedence : int {
  kTernary = 1,
  kLogicalOr,
  kLogicalAnd,
  kBitOr,
  kBitXor,
  kBitAnd,
  kEquality,
  kRelation,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPrimary,
};

/// C++ form of an operation. In `text`, $0, $1, ... are operands, $* all of
/// them, $T is the first operand's type, $U its unsigned form, $R the result's
/// type, and $V its unsigned form.
struct ScalarForm {
  llvm::StringRef name;
  llvm::StringRef text;
  /// Precedence of the whole, and the minimum of the first and of the other
  /// operands without parentheses.
  Precedence precedence = kPrimary, first = kTernary, others = kTernary;
};

/// Return the form of a scalar operation or of a name in the table; null if
/// there is none.
const ScalarForm *lookupForm(mlir::Operation *op);
const ScalarForm *lookupForm(llvm::StringRef name);

/// Returns whether a form is a function of math.cuh with so many instructions
/// that there is a noinline version: "frit::called::sin".
bool isLongFunction(const ScalarForm &form);

/// Return the C++ type of a stored element ("frit::f16") and of a value in a
/// kernel ("float"); empty for unsupported types.
llvm::StringRef storageName(mlir::Type element);
llvm::StringRef valueName(mlir::Type type);
llvm::StringRef unsignedName(mlir::Type type);

/// Returns the type that kernels compute in for an element type. 16-bit floats
/// are storage types and compute as f32.
mlir::Type valueType(mlir::Type element);

/// Returns the bytes of a stored element.
int64_t storageBytes(mlir::Type element);

/// Returns the C++ text of a constant of a value type. Floats print as the
/// shortest decimal that reads back to the same bits.
std::string literal(mlir::Attribute value, mlir::Type type);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SCALAR_SCALARS_H
