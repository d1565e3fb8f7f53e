//===- Infer.h - Shape and type inference shared by the families ----------===//

#ifndef FRIT_DIALECTS_NN_INFER_H
#define FRIT_DIALECTS_NN_INFER_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeRange.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace frit::nn {

/// Limit of pads, strides and the like, so that indices computed from them fit
/// in 64 bits.
inline constexpr int64_t maxEntry = (int64_t(1) << 31) - 1;

/// Returns the element types of `tensors`.
llvm::SmallVector<mlir::Type> elementTypes(mlir::ValueRange tensors);

/// Broadcasts shapes as NumPy does; they may have dynamic dimensions. None if
/// two sizes differ and neither is 1.
std::optional<llvm::SmallVector<int64_t>>
broadcastShapes(llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes);

/// Infers the broadcast shape of `operands` with element type `element`.
/// Reports incompatible shapes at `loc`.
llvm::LogicalResult inferBroadcast(std::optional<mlir::Location> loc,
                                   mlir::ValueRange operands,
                                   mlir::Type element,
                                   llvm::SmallVectorImpl<mlir::Type> &types);

/// Returns a tensor type, or reports at `loc` that the shape is too large.
llvm::FailureOr<mlir::RankedTensorType>
makeType(std::optional<mlir::Location> loc, llvm::ArrayRef<int64_t> shape,
         mlir::Type element);

/// Reports an error at `loc` unless all tensors have the element type of the
/// first. Null tensors are ignored.
llvm::LogicalResult checkElementTypes(std::optional<mlir::Location> loc,
                                      mlir::ValueRange tensors);

/// Return whether two sizes, or lists of tensor types, are equal or may turn
/// out to be.
bool mayEqual(int64_t a, int64_t b);
bool mayBeSame(mlir::TypeRange a, mlir::TypeRange b);

/// Returns `axis` as a non-negative number. Reports an error at `loc` if it is
/// not in [-rank, rank).
std::optional<int64_t> normalizeAxis(std::optional<mlir::Location> loc,
                                     int64_t axis, int64_t rank);

/// Reports an error at the operator if its types cannot be inferred, or differ
/// from the inferred ones.
template <typename Op> llvm::LogicalResult verifyInferred(Op op) {
  llvm::SmallVector<mlir::Type, 1> types;
  if (failed(Op::inferReturnTypes(
          op.getContext(), op.getLoc(), op->getOperands(),
          op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
          op->getRegions(), types)))
    return llvm::failure();
  if (!mayBeSame(types, op->getResultTypes()))
    return op.emitOpError("gives ")
           << types[0] << ", not " << op->getResult(0).getType();
  return llvm::success();
}

/// Formats a shape: 1x3x224x224.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_INFER_H
