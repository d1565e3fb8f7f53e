//===- CpuDialect.cpp - The schedules of the cpu target -------------------===//

#include "codegen/cpu/CpuDialect.h"

#include "dialects/plan/Plan.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

#include "codegen/cpu/Dialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "codegen/cpu/Attributes.cpp.inc"

void frit::cpu::CpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "codegen/cpu/Attributes.cpp.inc"
      >();
}

llvm::LogicalResult
frit::cpu::GemmAttr::buildStep(mlir::ImplicitLocOpBuilder &b,
                               nn::Problem &problem,
                               const plan::CallBuffers &buffers) const {
  return plan::buildGemm(b, problem, libraryAlgorithm(), buffers);
}

/// Orders the inputs as the operator does, which may have one twice.
llvm::LogicalResult frit::cpu::QuantizedConvAttr::buildStep(
    mlir::ImplicitLocOpBuilder &b, nn::Problem &problem,
    const plan::CallBuffers &buffers) const {
  auto conv = llvm::cast<nn::QuantizedConvOp>(
      problem.fusion().getBody().front().front());
  llvm::SmallVector<mlir::Value> inputs;
  for (mlir::Value operand : conv->getOperands())
    inputs.push_back(
        buffers
            .inputs[llvm::cast<mlir::BlockArgument>(operand).getArgNumber()]);
  auto unit = [&](bool set) {
    return set ? b.getUnitAttr() : mlir::UnitAttr();
  };
  // Plans have two spatial dimensions; the last ones are the operator's.
  auto two = [&](llvm::ArrayRef<int64_t> own, int64_t none, size_t lists) {
    llvm::SmallVector<int64_t> all;
    size_t rank = own.size() / lists;
    for (size_t list = 0; list < lists; ++list) {
      all.append(2 - rank, none);
      llvm::append_range(all, own.slice(list * rank, rank));
    }
    return b.getDenseI64ArrayAttr(all);
  };
  plan::ConvOp::create(
      b, /*fallback=*/nullptr, inputs, buffers.outputs, /*workspace=*/nullptr,
      two(conv.getStrides(), 1, 1), two(conv.getPads(), 0, 2),
      two(conv.getDilations(), 1, 1), b.getI64IntegerAttr(conv.getGroup()),
      /*channels_last=*/b.getUnitAttr(), /*tf32=*/nullptr,
      unit(bool(conv.getBias())), /*residual=*/nullptr,
      plan::ActivationAttr::get(
          b.getContext(), conv.getRelu() ? Activation::relu : Activation::none),
      plan::ConvPassAttr::get(b.getContext(), plan::ConvPass::forward),
      /*algorithm=*/nullptr, /*quantized=*/b.getUnitAttr(),
      unit(bool(conv.getOffset())), unit(bool(conv.getScale())),
      unit(bool(conv.getYZero())));
  return llvm::success();
}

llvm::LogicalResult
frit::cpu::ConvAttr::buildStep(mlir::ImplicitLocOpBuilder &b,
                               nn::Problem &problem,
                               const plan::CallBuffers &buffers) const {
  return plan::buildConv(b, problem, libraryAlgorithm(), buffers);
}
