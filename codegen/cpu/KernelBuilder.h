//===- KernelBuilder.h - Kernels that are written out ---------------------===//

#ifndef FRIT_CODEGEN_CPU_KERNELBUILDER_H
#define FRIT_CODEGEN_CPU_KERNELBUILDER_H

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace frit::cpu {

/// Creates the function `name` with an empty body for a fusion. It takes
/// memrefs of the operands and results and the bounds of work items, of which
/// there are `items`.
mlir::func::FuncOp createKernelFunction(nn::FusionOp fusion,
                                        llvm::StringRef name, int64_t items,
                                        mlir::OpBuilder &builder);

/// Builds the loops and indices of such a function.
class KernelBuilder {
public:
  KernelBuilder(nn::FusionOp fusion, mlir::func::FuncOp function);

protected:
  /// Returns the function's argument for an operand that the fusion's body
  /// reads, and for a result.
  mlir::Value argumentOf(mlir::Value operand);
  mlir::Value resultArgument(unsigned result);

  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, value);
  }
  /// x · factor + y, of indices.
  mlir::Value mulAdd(mlir::Value x, int64_t factor, mlir::Value y);
  mlir::Value plus(mlir::Value x, int64_t offset);

  /// Builds a loop that passes values on, and one that does not.
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value at, mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> loop(mlir::Value from, mlir::Value to,
                                      int64_t step, mlir::ValueRange start,
                                      Body body);
  void loop(mlir::Value from, mlir::Value to, int64_t step,
            llvm::function_ref<void(mlir::Value at)> body);

  mlir::ImplicitLocOpBuilder b;
  mlir::func::FuncOp function;
  unsigned operands; ///< of the fusion
  mlir::Value begin, end;
};

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_KERNELBUILDER_H
