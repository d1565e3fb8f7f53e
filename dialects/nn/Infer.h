//===- Infer.h - Shape and type inference shared by the families ----------===//

#ifndef FRIT_DIALECTS_NN_INFER_H
#define FRIT_DIALECTS_NN_INFER_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeRange.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace frit::nn {

/// Pads, strides and the like are no larger, so that places computed from them
/// fit 64 bits.
inline constexpr int64_t maxEntry = (int64_t(1) << 31) - 1;

/// The element types of tensors, in order.
llvm::SmallVector<mlir::Type> elementTypes(mlir::ValueRange tensors);

/// NumPy's broadcast of shapes, which may have dynamic dimensions; nothing
/// where two sizes differ and neither is 1.
std::optional<llvm::SmallVector<int64_t>>
broadcastShapes(llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes);

/// Infers the broadcast of `operands` with `element` elements, or reports the
/// shapes that do not fit at `loc`.
llvm::LogicalResult inferBroadcast(std::optional<mlir::Location> loc,
                                   mlir::ValueRange operands,
                                   mlir::Type element,
                                   llvm::SmallVectorImpl<mlir::Type> &types);

/// A tensor type, or an error at `loc` where no tensor has that shape.
llvm::FailureOr<mlir::RankedTensorType>
makeType(std::optional<mlir::Location> loc, llvm::ArrayRef<int64_t> shape,
         mlir::Type element);

/// An error at `loc` unless the tensors that are there have the element type of
/// the first.
llvm::LogicalResult checkElementTypes(std::optional<mlir::Location> loc,
                                      mlir::ValueRange tensors);

/// Whether two sizes, or lists of tensor types, are or may turn out to be the
/// same.
bool mayEqual(int64_t a, int64_t b);
bool mayBeSame(mlir::TypeRange a, mlir::TypeRange b);

/// `axis` counted from the front, or nothing (with an error at `loc`) where it
/// is not in [-rank, rank).
std::optional<int64_t> normalizeAxis(std::optional<mlir::Location> loc,
                                     int64_t axis, int64_t rank);

/// Reports at the operator where its types cannot be inferred, or are not
/// those that were.
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

/// Shape as people write it: 1x3x224x224.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_INFER_H
