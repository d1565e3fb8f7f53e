//===- Precision.cpp - The graph in a narrower float type -----------------===//
//
// mode=fp16:
//   func.func @main(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {
//     %w = nn.constant "w" ... : tensor<4x3xf32>
//     %y = nn.matmul %x, %w : ...
//     return %y
// ==>
//     %w = nn.constant "w" ... : tensor<4x3xf32>
//     %h = nn.cast %x {storage, to = f16}
//     %v = nn.cast %w {storage, to = f16}
//     %z = nn.matmul %h, %v : (tensor<2x4xf16>, ...) -> tensor<2x3xf16>
//     %y = nn.cast %z {to = f32}
//     return %y
//
// mode=tf32 only sets `tf32` on contractions and attention. The graph's inputs
// and outputs keep their types; casts of weights move to @prepare. A value is
// cast to a type at most once, so no cast undoes another.
//
// Some values stay f32:
//
// - operands and results of nodes that `keep` names, and of operators that read
//   those results;
//
// - operands and results of the operators of `staysWide`, and elementwise
//   operators and means that read only such results;
//
// - f32 values from which such an operator or node is computed by elementwise
//   operators, movement, selection and products of coordinates, and a sine also
//   by averages and products of up to 32 coordinates. The angles of a rotary
//   embedding are position × frequency; at 1,000 radians, rounding changes an
//   angle by up to 0.25 in f16 and 2 in bf16. A selection finds elements by
//   their f32 values;
//
// - the operators behind the last products that compute a loss, where they read
//   f32 values (LossTail.h);
//
// - elementwise operators and softmax on the way to a logarithm: in f16,
//   sigmoid(-20) is 0;
//
// - products with a trained parameter, elementwise functions of these, and
//   their norms. A residual stream with layer scale is thus f32, as under
//   PyTorch's autocast: 16-bit sums would lose a branch that is scaled by 1e-5.
//
// A quantization is f32 from the division by its scale on. Its bytes are no
// positions: what it divides may be narrow.
//
// Sums of codes, and elementwise functions of these, are f32 by the second
// rule. A value among them that a norm or a reduction reads is rounded to 16
// bits first: another kernel reads it.
//
// In every mode, the model's own f16 and bf16 values become f32 by these rules,
// except the last one: of a model in f16, (x - mean(x))² is f32 up to the root
// of its mean.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Passes.h"
#include "compiler/transform/precision/Narrowing.h"
#include "compiler/transform/recognize/QuantizedOperands.h"

namespace frit {
#define GEN_PASS_DEF_PRECISION
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;
using namespace frit::precision;

/// Sets `tf32` on contractions, except those that `keep` names or that compute
/// angles.
static void setTf32(ArrayRef<std::string> keep, Block &block) {
  WideReaders readers({}, block);
  for (Operation &op : block)
    if (isa<MatmulOp, ConvOp, AttentionOp>(op) &&
        isTensorOf(op.getResult(0), Float32Type::get(op.getContext())) &&
        !isNamed(keep, &op) && !multipliesCoordinates(&op) &&
        !(computesAngles(&op) && readers.passes(&op)))
      op.setAttr("tf32", UnitAttr::get(op.getContext()));
}

namespace {
class Precision : public frit::impl::PrecisionBase<Precision> {
public:
  using PrecisionBase::PrecisionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Builder builder(&getContext());
    FloatType f32 = builder.getF32Type(), to;
    SmallVector<std::string> kept(keep.begin(), keep.end());
    auto inEach = [&](llvm::function_ref<void(Block &)> rewrite) {
      for (auto function : module.getOps<func::FuncOp>())
        if (!function.isExternal())
          rewrite(function.getBody().front());
    };
    inEach(widenProducts);
    auto narrow = [&](FloatType from, FloatType to) {
      inEach(
          [&](Block &block) { Narrowing(from, to, kept, block).run(block); });
    };
    for (FloatType own :
         {FloatType(builder.getF16Type()), FloatType(builder.getBF16Type())})
      narrow(own, own);
    if (mode == "fp32")
      return;
    if (mode == "tf32") {
      inEach([&](Block &block) { setTf32(kept, block); });
      return;
    }
    if (mode == "fp16" || mode == "amp-fp16")
      to = builder.getF16Type();
    else if (mode == "bf16" || mode == "amp-bf16" || mode == "amp-fp8")
      to = builder.getBF16Type();
    else {
      module.emitError("unknown precision '")
          << mode
          << "': fp32, tf32, fp16, bf16, amp-fp16, amp-bf16 and amp-fp8 are "
             "known";
      return signalPassFailure();
    }
    narrow(f32, to);
    inEach([&](Block &block) { narrowQuantizedRows(block, to); });
  }
};
} // namespace
