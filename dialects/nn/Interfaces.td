//===- Interfaces.td - Interfaces of operators ----------------------------===//

#ifndef FRIT_DIALECTS_NN_INTERFACES_TD
#define FRIT_DIALECTS_NN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def NN_ElementwiseInterface : OpInterface<"ElementwiseOp"> {
  let cppNamespace = "::frit::nn";
  let description = [{
    An operator with one result, each element of which depends only on the
    operands' elements at the same index, after broadcasting.
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
    An operator that is defined by a small graph of others. Fast kernels for it
    are schedules of that graph; they do not change its meaning.
  }];
  let methods = [InterfaceMethod<[{
      Builds the graph that defines it, before itself. Returns the values that
      replace its results; they have the same types.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose",
    (ins "::frit::nn::NNBuilder &":$b)>];
}

def NN_StructuralInterface : OpInterface<"StructuralOp"> {
  let cppNamespace = "::frit::nn";
  let description = [{
    An operator that moves elements or combines many of them.
  }];
  let methods = [InterfaceMethod<[{
      Builds its one result as `linalg.generic` on tensors of static shape. `x`
      are the operands with signless element types. `tensor.extract` in the body
      reads elements at computed indices. Accumulators of 16-bit floats are f32.
    }], "::mlir::Value", "buildLinalg",
    (ins "::mlir::ImplicitLocOpBuilder &":$b, "::mlir::ValueRange":$x)>];
}

def NN_DifferentiableInterface : OpInterface<"DifferentiableOp"> {
  let cppNamespace = "::frit::nn";
  let description = [{
    An operator with a gradient. Gradients flow through its first result only.
    Composites without a gradient are decomposed before differentiation.
  }];
  let methods = [InterfaceMethod<
      "Returns whether this instance has a gradient.",
      "bool", "isDifferentiable", (ins), "", "return true;">,
    InterfaceMethod<[{
      Builds the vector-Jacobian product: given `dy`, the gradient of a loss
      with respect to the result, returns the gradient with respect to each
      operand. Null for an operand on which the result does not depend
      differentiably (an index, a condition). A gradient may have the shape that
      the operand is broadcast to, and another float type: the caller sums and
      casts it.
    }], "::llvm::SmallVector<::mlir::Value>", "buildVjp",
    (ins "::frit::nn::NNBuilder &":$b, "::mlir::Value":$dy)>];
}

def NN_TiedInterface : OpInterface<"TiedOp"> {
  let cppNamespace = "::frit::nn";
  let description = [{
    An operator with a result that replaces an operand: both may have the same
    memory, of which it writes only what changes. See `nn.update`.
  }];
  let methods = [InterfaceMethod<[{
      Returns the number of the operand that a result replaces, or nothing.
    }], "::std::optional<unsigned>", "tiedOperand", (ins "unsigned":$result)>];
}

#endif // FRIT_DIALECTS_NN_INTERFACES_TD
