//===- Scalars.h - Scalar operations as C++ text --------------------------===//
//
// One table from operation names of arith and math to C++ expressions, and the
// text of types and constants.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_SCALAR_SCALARS_H
#define FRIT_CODEGEN_CUDA_SCALAR_SCALARS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace frit::cuda {

/// How tightly C++ operators bind, loosest first.
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

/// An operation's text. In `text`, $0, $1, ... stand for operands, $T and $U
/// for the first operand's type and its unsigned form, $R for the result's.
struct ScalarForm {
  llvm::StringLiteral name;
  llvm::StringLiteral text;
  /// Of the whole, and what the first and the other operands need at least.
  Precedence precedence = kPrimary, first = kTernary, others = kTernary;
};

/// The form of a scalar operation, or of a name in the table, or null where it
/// has none.
const ScalarForm *lookupForm(mlir::Operation *op);
const ScalarForm *lookupForm(llvm::StringRef name);

/// Whether a form is a function of math.cuh that takes so many instructions
/// that it is also there to be called: "frit::called::sin".
bool isLongFunction(const ScalarForm &form);

/// The C++ type of a tensor's elements as stored ("frit::f16") and of a value
/// in a kernel ("float"); empty for types that kernels do not know.
llvm::StringRef storageName(mlir::Type element);
llvm::StringRef valueName(mlir::Type type);
llvm::StringRef unsignedName(mlir::Type type);

/// The type in which an element is computed with: 16-bit floats are storage.
mlir::Type valueType(mlir::Type element);

/// Bytes of an element as stored.
int64_t storageBytes(mlir::Type element);

/// C++ text of a constant of a value type. Floats print the shortest decimal
/// that reads back to the same bits.
std::string literal(mlir::Attribute value, mlir::Type type);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SCALAR_SCALARS_H
