//===- NN.h - The nn dialect ----------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_NN_H
#define FRIT_DIALECTS_NN_NN_H

#include "dialects/nn/Infer.h"
#include "dialects/nn/ScalarBuilder.h"
#include "dialects/nn/Schedule.h"
#include "dialects/nn/TensorExpr.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/nn/Enums.h.inc"

namespace frit::nn {

/// Builds nn operators; used by `decompose`.
class NNBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// Builds a cast with `storage`, which the compiler may merge with others.
  mlir::Value cast(mlir::Value x, mlir::Type element);

  /// Reduces along `axes`, which become size 1.
  mlir::Value reduce(mlir::Value x, Combiner kind,
                     llvm::ArrayRef<int64_t> axes);

  /// Sums `x` over the dimensions along which `shape` was broadcast to that of
  /// `x`. The result has the shape `shape`.
  mlir::Value sumTo(mlir::Value x, llvm::ArrayRef<int64_t> shape);

  /// Builds a rank 0 constant with the element type of `like`.
  mlir::Value scalarLike(mlir::Value like, double value);

  /// Builds a rank 0 i64 constant.
  mlir::Value integer(int64_t value);

  /// Builds 0, 1, 2 … as i64 along `axis` of a tensor of `shape`.
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, int64_t axis);

  /// Builds a constant of zeros.
  mlir::Value zeros(mlir::RankedTensorType type);
};

/// Columns of nn.gate_columns that give 8 neighbours of a row.
inline constexpr int64_t kGatedColumns = 16;

/// Elements of a row. Ranks divide tensors into shards of whole rows.
inline constexpr int64_t kShardRow = 4096;

/// Returns the value that `value` is a reshape of, or a reshape of that; else
/// `value`.
mlir::Value throughReshapes(mlir::Value value);

/// Returns what a kernel with this result stores: the value of an update at an
/// offset, which replaces a part of the result; else the result.
mlir::Value storedValueOf(mlir::Value result);

/// Returns whether all ranks compute the operator together.
bool isCollective(mlir::Operation *op);

/// Returns whether ranks can reduce a tensor of this element type.
bool isReducible(mlir::ShapedType type);

} // namespace frit::nn

#include "dialects/nn/Interfaces.h.inc"

#include "dialects/nn/Dialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/nn/Attributes.h.inc"

#define GET_OP_CLASSES
#include "dialects/nn/Structure.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/State.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/Elementwise.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/Activation.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/Movement.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/Contraction.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/Reduction.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/Window.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/Normalization.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/Attention.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/Selection.h.inc"

namespace frit::nn {

/// Returns the shape and element type of a tensor value.
inline mlir::RankedTensorType tensorType(mlir::Value v) {
  return llvm::cast<mlir::RankedTensorType>(v.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value v) {
  return tensorType(v).getShape();
}

/// Return the dimension of a batch norm's channels, and the shape with which a
/// vector of them broadcasts to x.
int64_t channelDimension(BatchNormOp norm);
llvm::SmallVector<int64_t> channelShape(BatchNormOp norm);

/// Returns a valid `axis` of `x`, which may be negative, as a non-negative one.
inline int64_t axisOf(mlir::Value x, int64_t axis) {
  return axis < 0 ? axis + tensorType(x).getRank() : axis;
}

/// The nn operator for an ONNX operator.
struct OnnxEntry {
  llvm::StringRef operation; ///< "nn.tanh"
  int since = 1;             ///< first opset with this meaning
};

/// Returns the nn operator that equals the ONNX operator `name`; null if the
/// importer has a hook for it.
const OnnxEntry *lookupOnnx(llvm::StringRef name);

/// An operator as --help-ops lists it.
struct OperatorEntry {
  llvm::StringRef operation; ///< "nn.tanh"
  llvm::StringRef onnx;      ///< its ONNX name, or empty
  llvm::StringRef summary;
  bool hasGradient; ///< its own, or composed of its parts'
};

/// Returns every operator, family by family.
llvm::ArrayRef<OperatorEntry> operators();

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_NN_H
