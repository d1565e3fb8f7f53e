//===- Lowering.cpp - Upstream passes from linalg to LLVM -----------------===//

#include "codegen/cpu/CpuKernels.h"
#include "codegen/cpu/ErrorFunction.h"
#include "codegen/cpu/Logarithms.h"
#include "codegen/cpu/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/TilingInterfaceImpl.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorTilingInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

void frit::cpu::registerDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect,
                  bufferization::BufferizationDialect, cf::ControlFlowDialect,
                  func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerTilingInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerInferTypeOpInterfaceExternalModels(registry);
  tensor::registerTilingInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

void frit::cpu::addLoopFusionPasses(OpPassManager &passes) {
  OpPassManager &kernels = passes.nest<func::FuncOp>();
  kernels.addPass(createReadUnexpandedPass());
  kernels.addPass(createLinalgElementwiseOpFusionPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
}

namespace {

/// Allows reordering of sums, so that they vectorize. Sums of thousands of
/// terms become more accurate, not less.
struct ReassociateReductions
    : PassWrapper<ReassociateReductions, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReassociateReductions)
  void runOnOperation() override {
    getOperation().walk([](linalg::GenericOp generic) {
      if (!generic.getNumReductionLoops())
        return;
      for (Value value : generic.getBody()->getTerminator()->getOperands())
        if (Operation *op = value.getDefiningOp();
            isa_and_nonnull<arith::AddFOp, arith::MulFOp>(op))
          op->setAttr("fastmath", arith::FastMathFlagsAttr::get(
                                      op->getContext(),
                                      arith::FastMathFlags::reassoc |
                                          arith::FastMathFlags::contract));
    });
  }
};

/// Drops the rounding modes of conversions. All of them are "nearest even", the
/// default of plain instructions.
struct DropRoundingModes
    : PassWrapper<DropRoundingModes, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropRoundingModes)
  void runOnOperation() override {
    getOperation().walk(
        [](arith::TruncFOp op) { op.removeRoundingmodeAttr(); });
  }
};

/// Lowers maxima and minima of f32 and f64 to LLVM's intrinsics, whose loops
/// LLVM vectorizes. createArithExpandOpsPass() would lower them to comparisons.
/// In both forms a zero may have either sign.
struct KeepExtrema : PassWrapper<KeepExtrema, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KeepExtrema)
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (isa<arith::MaximumFOp>(op))
        replace<LLVM::MaximumOp>(op);
      else if (isa<arith::MinimumFOp>(op))
        replace<LLVM::MinimumOp>(op);
    });
  }

  template <typename By> static void replace(Operation *op) {
    Type type = op->getResult(0).getType();
    if (!type.isF32() && !type.isF64())
      return;
    OpBuilder b(op);
    op->replaceAllUsesWith(By::create(b, op->getLoc(), op->getOperand(0),
                                      op->getOperand(1),
                                      LLVM::FastmathFlags::nsz));
    op->erase();
  }
};

/// Splits a fused multiply-add.
struct SplitFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FmaOp fma,
                                PatternRewriter &rewriter) const override {
    Value product =
        arith::MulFOp::create(rewriter, fma.getLoc(), fma.getA(), fma.getB());
    rewriter.replaceOpWithNewOp<arith::AddFOp>(fma, product, fma.getC());
    return success();
  }
};

/// Computes exp, log, tanh and erf of f32 by polynomials, which vectorize; libm
/// calls do not. log1p is computed by log, since upstream's log(1 + x) is 0 for
/// small x. Each is a function that LLVM inlines, so that only one of them
/// is expanded and converted; one for vectors of each size. Only the
/// polynomials have fused multiply-adds: a processor without them would call a
/// function for each.
///
///   func @k(…) { … %y = math.exp %x : f32 … }
/// ==>
///   func private @frit_exp(%x: f32) -> f32 { … }
///   func @k(…) { … %y = call @frit_exp(%x) : (f32) -> f32 … }
struct ApproximateMath : PassWrapper<ApproximateMath, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateMath)
  explicit ApproximateMath(bool hasFma) : hasFma(hasFma) {}
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                    vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns,
                                                [](StringRef) { return true; });
    if (!hasFma)
      patterns.add<SplitFma>(&getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (func::FuncOp function : shareFunctions())
      if (failed(applyPatternsGreedily(function, frozen)))
        return signalPassFailure();
  }

  /// Replaces operators by calls. Returns the functions that are called.
  SmallVector<func::FuncOp> shareFunctions() {
    OpBuilder b = OpBuilder::atBlockBegin(getOperation().getBody());
    llvm::SmallMapVector<std::pair<OperationName, Type>, func::FuncOp, 4>
        functions;
    getOperation().walk([&](Operation *op) {
      bool isPolynomial =
          isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp>(op) &&
          getElementTypeOrSelf(op->getResult(0)).isF32();
      if (!isPolynomial && !isa<math::Log1pOp>(op))
        return;
      func::FuncOp &function =
          functions[{op->getName(), op->getResult(0).getType()}];
      if (!function)
        function = createFunction(b, op);
      OpBuilder calls(op);
      op->replaceAllUsesWith(func::CallOp::create(calls, op->getLoc(), function,
                                                  op->getOperands()));
      op->erase();
    });
    return llvm::map_to_vector(functions,
                               [](auto &entry) { return entry.second; });
  }

  /// Creates the function that computes what `op` does.
  static func::FuncOp createFunction(OpBuilder &b, Operation *op) {
    OpBuilder::InsertionGuard guard(b);
    std::string name = ("frit_" + op->getName().stripDialect()).str();
    if (auto type = dyn_cast<VectorType>(op->getResult(0).getType()))
      name += "_" + std::to_string(type.getNumElements());
    if (getElementTypeOrSelf(op->getResult(0)).isF64())
      name += "_f64";
    auto function = func::FuncOp::create(
        b, op->getLoc(), name,
        b.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
    function.setPrivate();
    function->setAttr("passthrough", b.getStrArrayAttr({"alwaysinline"}));
    function->setAttr(
        "llvm.linkage",
        LLVM::LinkageAttr::get(b.getContext(), LLVM::Linkage::Internal));
    Block *body = function.addEntryBlock();
    b.setInsertionPointToStart(body);
    IRMapping operands;
    operands.map(op->getOperand(0), body->getArgument(0));
    ImplicitLocOpBuilder inside(op->getLoc(), b);
    Value x = body->getArgument(0);
    Value result = isa<math::ErfOp>(op)   ? frit::cpu::buildErf(inside, x)
                   : isa<math::LogOp>(op) ? frit::cpu::buildLog(inside, x)
                   : isa<math::Log1pOp>(op)
                       ? frit::cpu::buildLog1p(inside, x)
                       : b.clone(*op, operands)->getResult(0);
    func::ReturnOp::create(inside, result);
    return function;
  }

  bool hasFma;
};

} // namespace

void frit::cpu::addBufferizationPasses(OpPassManager &passes) {
  passes.addPass(std::make_unique<ReassociateReductions>());
  passes.addPass(std::make_unique<DropRoundingModes>());
  passes.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  passes.addNestedPass<func::FuncOp>(createCSEPass());

  passes.addPass(bufferization::createEmptyTensorEliminationPass());
  passes.addPass(bufferization::createOneShotBufferizePass());
  passes.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  passes.addPass(createConvertBufferizationToMemRefPass());
}

void frit::cpu::addLLVMPasses(OpPassManager &passes,
                              const llvm::TargetMachine &machine,
                              llvm::StringRef arch) {
  // Passes of a function run on several functions at once.
  OpPassManager &kernels = passes.nest<func::FuncOp>();
  kernels.addPass(createConvertLinalgToLoopsPass());
  kernels.addPass(createLoopInvariantCodeMotionPass());
  kernels.addPass(memref::createFoldMemRefAliasOpsPass());
  kernels.addPass(memref::createExpandStridedMetadataPass());
  kernels.addPass(createLowerAffinePass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createSplitLoopsPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createSCFToControlFlowPass());
  passes.addPass(std::make_unique<ApproximateMath>(
      machine.getTargetTriple().isAArch64() ||
      machine.getMCSubtargetInfo()->checkFeatures("+fma")));
  passes.addNestedPass<func::FuncOp>(std::make_unique<KeepExtrema>());
  // On x86 the conversion of f32 to bf16 would call a function that older
  // libgcc lack.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  passes.addNestedPass<func::FuncOp>(arith::createArithExpandOpsPass(expand));
  passes.addPass(createCallUserFunctionsPass(arch));
  passes.addNestedPass<func::FuncOp>(createConvertMathToLLVMPass());
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addNestedPass<func::FuncOp>(createArithToLLVMConversionPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  passes.addPass(createConvertFuncToLLVMPass(functions));
  passes.addPass(createReconcileUnrealizedCastsPass());
}
