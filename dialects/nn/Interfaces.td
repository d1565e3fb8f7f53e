//===- Interfaces.td - The three kinds of operator -------------------------===//

#ifndef FRIT_NN_INTERFACES
#define FRIT_NN_INTERFACES

include "mlir/IR/OpBase.td"

def NN_ElementwiseInterface : OpInterface<"ElementwiseOp"> {
  let cppNamespace = "::frit::nn";
  let description = [{
    One result whose every element depends only on the operands' elements at
    the same place, after broadcasting.
  }];
  let methods = [InterfaceMethod<[{
      Builds the result's element from the operands' elements, which have body
      types (see ScalarBuilder.h).
    }], "::frit::nn::Scalar", "buildScalar",
    (ins "::frit::nn::ScalarBuilder &":$s,
         "::llvm::ArrayRef<::frit::nn::Scalar>":$x)>];
}

def NN_CompositeInterface : OpInterface<"CompositeOp"> {
  let cppNamespace = "::frit::nn";
  let description = [{
    An operator that means a small graph of others. Fast kernels for it are
    schedules, never other semantics.
  }];
  let methods = [InterfaceMethod<[{
      Builds the graph it means before itself and returns the values that
      replace its results, of the same types.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose",
    (ins "::frit::nn::NNBuilder &":$b)>];
}

def NN_StructuralInterface : OpInterface<"StructuralOp"> {
  let cppNamespace = "::frit::nn";
  let description = [{
    An operator that moves elements or combines many of them.
  }];
  let methods = [InterfaceMethod<[{
      Builds its one result from `x`, the operands with signless element types,
      as `linalg.generic` on tensors of static shape. Elements at computed
      places are read by `tensor.extract` in the body; accumulators of 16-bit
      floats are f32.
    }], "::mlir::Value", "buildLinalg",
    (ins "::mlir::ImplicitLocOpBuilder &":$b, "::mlir::ValueRange":$x)>];
}

#endif // FRIT_NN_INTERFACES
