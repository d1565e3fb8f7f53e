//===- LinalgFusion.h - A fusion as linalg operators ----------------------===//

#ifndef FRIT_CODEGEN_CUDA_SCALAR_LINALGFUSION_H
#define FRIT_CODEGEN_CUDA_SCALAR_LINALGFUSION_H

#include "dialects/nn/NN.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

namespace frit::cuda {

/// Where a kernel stores an output that replaces rows of a state. The value
/// has `outer` × `rows` × `inner` elements, the state `outer` × `capacity` ×
/// `inner`. Rows of index i of `outer` begin at row offsets[i / `each`].
struct Destination {
  unsigned offsets; ///< input of the fusion
  int64_t outer, rows, capacity, inner, each;
};

/// The linalg form of a fusion, in a module that this object owns. Composites
/// that the target keeps whole and users' operators become empty tensors: their
/// skeletons only need the types, and others cannot print their elements.
class LinalgFusion {
public:
  explicit LinalgFusion(nn::FusionOp fusion);

  /// Returns the lowered tensor of a value of the fusion's body.
  mlir::Value operator[](mlir::Value value) const {
    return values.lookup(value);
  }
  llvm::ArrayRef<mlir::Type> inputElements() const { return inputs; }
  /// Returns the lowered values that the kernel stores: those that the fusion
  /// yields or, of an update at an offset, the rows that it replaces.
  llvm::ArrayRef<mlir::Value> outputs() const { return results; }
  /// Returns where output `i` is stored; nothing if it is the whole result.
  const std::optional<Destination> &destination(size_t i) const {
    return destinations[i];
  }
  /// Returns whether an output replaces rows of a state.
  bool hasDestinations() const;
  /// Returns whether vectors of that many elements lie within such rows.
  bool keepsRows(int64_t vector) const;
  mlir::MLIRContext *context() const { return mlirContext; }
  /// Returns the inputs that may be read before the PDL wait: no kernel that
  /// can still be running writes them. The plan marks them
  /// (`plan.constant_inputs`).
  llvm::ArrayRef<int64_t> constantInputs() const { return constants; }
  /// Returns the inputs whose elements may be read before that wait unless the
  /// kernel writes them itself (`plan.settled_inputs`).
  llvm::ArrayRef<int64_t> settledInputs() const { return settled; }
  /// Returns the sets of arguments of a launch, one per blockIdx.y
  /// (`plan.batch`).
  int64_t batch() const { return sets; }
  /// Returns the bytes of input `i`.
  int64_t inputBytes(size_t i) const { return bytes[i]; }

private:
  mlir::MLIRContext *mlirContext;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::IRMapping values;
  llvm::SmallVector<mlir::Type> inputs;
  llvm::SmallVector<int64_t> bytes, constants, settled;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<std::optional<Destination>> destinations;
  int64_t sets;
};

inline int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

inline mlir::RankedTensorType rankedType(mlir::Value v) {
  return llvm::cast<mlir::RankedTensorType>(v.getType());
}
inline mlir::Type elementType(mlir::Value v) {
  return rankedType(v).getElementType();
}

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_SCALAR_LINALGFUSION_H
