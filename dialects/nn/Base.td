//===- Base.td - The nn dialect: base classes of the operators -------------===//
//
// Each operator is defined once. These classes paste the short code strings of
// a definition into interface methods, so that adding an elementwise operator
// or a composite touches only its family's .td and its test.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_BASE_TD
#define FRIT_DIALECTS_NN_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/nn/Interfaces.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::frit::nn";
  let summary = "Operators that models are made of";
  let description = [{
    Value semantics on ranked tensors. Operands of elementwise operators
    broadcast as in NumPy. Element types are `f32`, `f64`, `f16`, `bf16`,
    signless integers for ONNX's signed ones, `ui8`…`ui64` for its unsigned
    ones and `i1` for bool. 16-bit floats are storage: arithmetic on them is in
    f32. Small types (floats of 8 and 4 bits, integers of 4 and 2) take a byte
    per element. They can be moved and cast, but not computed with.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Constraints of attributes. Numbers are signed or signless.
def NN_IsFlag : AttrConstraint<
    CPred<"::llvm::cast<::mlir::IntegerAttr>($_self).getValue().ule(1)">,
    "that is 0 or 1">;
def NN_IsFinite : AttrConstraint<
    CPred<"::llvm::cast<::mlir::FloatAttr>($_self).getValue().isFinite()">,
    "that is finite">;
def NN_IsNotNegative : AttrConstraint<
    CPred<"!::llvm::cast<::mlir::FloatAttr>($_self).getValue().isNegative()">,
    "that is not negative">;
def NN_Flag : ConfinedAttr<SI64Attr, [NN_IsFlag]>;
def NN_FiniteAttr : ConfinedAttr<F32Attr, [NN_IsFinite]>;
/// Size or count that is not negative.
def NN_Count : ConfinedAttr<I64Attr, [IntNonNegative]>;
def NN_EpsilonAttr : ConfinedAttr<F32Attr, [NN_IsFinite, NN_IsNotNegative]>;

def NN_Integer : AnyTypeOf<[I8, I16, I32, I64, UI8, UI16, UI32, UI64],
                           "integer">;
def NN_Float : AnyTypeOf<[F16, BF16, F32, F64], "float">;
def NN_Number : AnyTypeOf<[NN_Float, NN_Integer], "number">;
/// Types that are only stored and converted, one byte per element.
def NN_Small : AnyTypeOf<[F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, F8E8M0FNU,
                          F4E2M1FN, I<4>, UI<4>, I<2>, UI<2>],
                         "8-bit float or number of 4 or 2 bits">;
def NN_Element : AnyTypeOf<[NN_Float, NN_Integer, I1, NN_Small],
                           "number, bool or small number">;

def NN_Tensor : RankedTensorOf<[NN_Element]>;
def NN_NumberTensor : RankedTensorOf<[NN_Number]>;
def NN_FloatTensor : RankedTensorOf<[NN_Float]>;
def NN_IntegerTensor : RankedTensorOf<[NN_Integer]>;
def NN_ByteTensor : RankedTensorOf<[I8, UI8]>;
/// Operands of products in 8 bits.
def NN_CodeTensor : RankedTensorOf<[I8, UI8, F8E4M3FN, F8E5M2]>;
def NN_IndexTensor : RankedTensorOf<[I32, I64]>;
def NN_ComparableTensor
    : RankedTensorOf<[AnyTypeOf<[NN_Number, I1], "number or bool">]>;
def NN_BoolTensor : RankedTensorOf<[I1]>;
/// Addends of scores, bools that show scores, or ranges of keys (`attention`).
def NN_AttentionMask
    : AnyTypeOf<[NN_FloatTensor, NN_BoolTensor, RankedTensorOf<[I32]>]>;

//===----------------------------------------------------------------------===//
// Base classes
//===----------------------------------------------------------------------===//

/// Base of all operators. `onnx` is the ONNX name, or empty. `since` is the
/// first opset with this meaning and these attribute names; older ones need a
/// conversion hook in the importer. The importer matches attributes by name and
/// operands by position.
class NN_Op<string mnemonic, string onnx, list<Trait> traits_ = []>
    : Op<NN_Dialect, mnemonic> {
  string onnxName = onnx;
  int since = 1;
  /// Whether the family's .cpp defines `buildVjp`.
  bit differentiable = 0;
  /// Alternatively to `buildVjp`, its body as an expression: a list with a
  /// Value per operand, over TensorExprs: the result's gradient `dy`, the
  /// result `y` and the operands `x[i]`, all with 16-bit floats widened to f32.
  code vjp = "";
  /// Whether the result is piecewise constant in the operands: bools and
  /// integers.
  bit discrete = 0;
  /// Whether it is a composite, whose parts may have gradients.
  bit decomposes = 0;
  bit hasGradient = !and(!not(discrete),
                         !or(differentiable, !not(!empty(vjp)), decomposes));
  let traits = !listconcat(
      [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>], traits_,
      !if(!or(differentiable, !not(!empty(vjp))),
          [DeclareOpInterfaceMethods<NN_DifferentiableInterface>], []<Trait>));
  code extraMethods = "";
  code extraMethodDefinitions = "";
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration =
      "static constexpr ::llvm::StringLiteral onnxName = \"" # onnxName #
      "\";\nstatic constexpr ::llvm::StringLiteral opSummary = \"" # summary #
      "\";\nstatic constexpr int onnxSince = " # !cast<string>(since) #
      ";\nstatic constexpr bool hasGradient = " #
      !if(hasGradient, "true", "false") # ";\n" # [{
    /// Unknown sizes are compatible with any.
    static bool isCompatibleReturnTypes(::mlir::TypeRange a,
                                        ::mlir::TypeRange b) {
      return ::frit::nn::mayBeSame(a, b);
    }
    /// Does nothing: `verify` infers the types, and the interface's version
    /// would add a second message.
    static ::llvm::LogicalResult refineReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location>,
        ::mlir::ValueRange, ::mlir::DictionaryAttr, ::mlir::OpaqueProperties,
        ::mlir::RegionRange, ::llvm::SmallVectorImpl<::mlir::Type> &) {
      return ::llvm::success();
    }
  }] # extraMethods;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::frit::nn::verifyInferred<$cppClass>(*this);
    }
  }] # extraMethodDefinitions # !if(!empty(vjp), "", [{
    ::llvm::SmallVector<::mlir::Value> $cppClass::buildVjp(
        ::frit::nn::NNBuilder &b, ::mlir::Value gradient) {
      auto dy = ::frit::nn::widened(b, gradient);
      auto y = ::frit::nn::widened(b, getResult());
      auto x = ::frit::nn::widened(b, getOperation()->getOperands());
      (void)dy, (void)y, (void)x;
      return }] # vjp # [{;
    }
  }]);
  let hasVerifier = 1;
}

/// An elementwise primitive. `scalar` is a C++ expression of the result's
/// element, over the operands' elements `x[i]` and the ScalarBuilder `s`.
/// `type` is one of its type, over the operands' element types `t[i]`; from
/// operand `sameFrom` on these must be equal.
class NN_Elementwise<string mnemonic, string onnx, code scalar, code type,
                     list<Trait> traits = [], int sameFrom = 0>
    : NN_Op<mnemonic, onnx, !listconcat([
        DeclareOpInterfaceMethods<NN_ElementwiseInterface>], traits)> {
  let results = (outs NN_Tensor:$y);
  let extraMethodDefinitions = [{
    ::frit::nn::Scalar $cppClass::buildScalar(
        ::frit::nn::ScalarBuilder &s,
        ::llvm::ArrayRef<::frit::nn::Scalar> x) {
      return }] # scalar # [{;
    }
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, ::std::optional<::mlir::Location> loc,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      Adaptor op(operands, attributes, properties, regions);
      if (::llvm::failed(
              op.verify(loc.value_or(::mlir::UnknownLoc::get(context)))))
        return ::llvm::failure();
      auto t = ::frit::nn::elementTypes(operands);
      if (::llvm::failed(::frit::nn::checkElementTypes(
              loc, operands.drop_front(}] # !cast<string>(sameFrom) # [{))))
        return ::llvm::failure();
      return ::frit::nn::inferBroadcast(loc, operands, }] # type # [{, types);
    }
  }];
}

class NN_Unary<string mnemonic, string onnx, code scalar>
    : NN_Elementwise<mnemonic, onnx, scalar, "t[0]"> {
  let arguments = (ins NN_NumberTensor:$x);
}

class NN_UnaryFloat<string mnemonic, string onnx, code scalar>
    : NN_Elementwise<mnemonic, onnx, scalar, "t[0]"> {
  let arguments = (ins NN_FloatTensor:$x);
}

class NN_Binary<string mnemonic, string onnx, code scalar,
                list<Trait> traits = []>
    : NN_Elementwise<mnemonic, onnx, scalar, "t[0]", traits> {
  let arguments = (ins NN_NumberTensor:$a, NN_NumberTensor:$b);
}

class NN_Compare<string mnemonic, string onnx, code scalar>
    : NN_Elementwise<mnemonic, onnx, scalar,
                     "::mlir::IntegerType::get(context, 1)"> {
  let arguments = (ins NN_ComparableTensor:$a, NN_ComparableTensor:$b);
  let discrete = 1;
}

class NN_Bitwise<string mnemonic, string onnx, code scalar,
                 list<Trait> traits = []>
    : NN_Elementwise<mnemonic, onnx, scalar, "t[0]", traits> {
  let arguments = (ins NN_IntegerTensor:$a, NN_IntegerTensor:$b);
  let discrete = 1;
}

class NN_Logical<string mnemonic, string onnx, code scalar>
    : NN_Elementwise<mnemonic, onnx, scalar, "t[0]"> {
  let arguments = (ins NN_BoolTensor:$a, NN_BoolTensor:$b);
  let discrete = 1;
}

/// An operator with one result, whose type `infer` returns. If there is none,
/// `infer` reports an error at `loc`. It runs after the attributes have been
/// checked.
class NN_Inferred<string mnemonic, string onnx, list<Trait> traits>
    : NN_Op<mnemonic, onnx, traits> {
  let extraMethods = [{
    static ::llvm::FailureOr<::mlir::RankedTensorType>
    infer(Adaptor op, ::std::optional<::mlir::Location> loc);
  }];
  let extraMethodDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, ::std::optional<::mlir::Location> loc,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      Adaptor op(operands, attributes, properties, regions);
      if (::llvm::failed(
              op.verify(loc.value_or(::mlir::UnknownLoc::get(context)))))
        return ::llvm::failure();
      ::llvm::FailureOr<::mlir::RankedTensorType> type = infer(op, loc);
      if (::llvm::failed(type))
        return ::llvm::failure();
      types.push_back(*type);
      return ::llvm::success();
    }
  }];
}

/// An operator that can be decomposed into others. It stays whole if the target
/// has a kernel for it. `infer` and `decompose` are in the family's .cpp.
class NN_Composite<string mnemonic, string onnx, list<Trait> traits = []>
    : NN_Inferred<mnemonic, onnx, !listconcat([
        DeclareOpInterfaceMethods<NN_CompositeInterface>], traits)> {
  let decomposes = 1;
}

/// A primitive that moves or combines elements. `infer` and `buildLinalg` are
/// in the family's .cpp.
class NN_Structural<string mnemonic, string onnx, list<Trait> traits = []>
    : NN_Inferred<mnemonic, onnx, !listconcat([
        DeclareOpInterfaceMethods<NN_StructuralInterface>], traits)>;

#endif // FRIT_DIALECTS_NN_BASE_TD
