//===- PrintCudaPass.cpp - frit-opt --print-cuda --------------------------===//

#include "codegen/cuda/compile/EmitModule.h"
#include "codegen/cuda/compile/Nvrtc.h"
#include "codegen/cuda/target/CudaDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

namespace {
class PrintCudaPass
    : public PassWrapper<PrintCudaPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintCudaPass)
  PrintCudaPass() = default;
  PrintCudaPass(const PrintCudaPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "print-cuda"; }
  StringRef getDescription() const override {
    return "Print every fusion as CUDA C++, and compile it with `compile`";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<CudaDialect, arith::ArithDialect, linalg::LinalgDialect,
                    math::MathDialect, scf::SCFDialect, tensor::TensorDialect,
                    func::FuncDialect>();
  }

  void runOnOperation() override {
    CudaOptions options;
    options.arch = arch;
    options.cublas = libraries;
    options.cudnn = libraries;
    CudaTarget target(options);
    SmallVector<KernelText, 0> kernels;
    SmallVector<std::string> launches;
    WalkResult result = getOperation().walk([&](nn::FusionOp fusion) {
      std::string name = "k" + std::to_string(kernels.size());
      nn::Schedule schedule = fusion.getScheduleAttr();
      if (!schedule)
        schedule = target.schedule(fusion);
      if (!schedule)
        return WalkResult::interrupt();
      fusion.setScheduleAttr(schedule);
      auto kernel = emitKernel(fusion, name, target);
      if (failed(kernel))
        return WalkResult::interrupt();
      std::string launch;
      llvm::raw_string_ostream os(launch);
      os << "// " << name << " " << schedule << " grid " << kernel->grid[0]
         << "x" << kernel->grid[1] << "x" << kernel->grid[2] << " block "
         << kernel->block[0];
      if (kernel->sharedBytes)
        os << " shared " << kernel->sharedBytes;
      if (!kernel->scalars.empty())
        os << " scalars ";
      llvm::interleave(kernel->scalars, os, "x");
      os << "\n";
      for (auto [i, map] : llvm::enumerate(kernel->tensorMaps))
        describeMap(os, i, map);
      launches.push_back(launch);
      kernels.push_back(std::move(*kernel));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    std::string text = joinKernels(kernels);
    for (const std::string &launch : launches)
      llvm::outs() << launch;
    llvm::outs() << text;
    for (const std::string &name : compile)
      if (llvm::Error error = compileFor(text, name)) {
        emitError(getOperation().getLoc()) << llvm::toString(std::move(error));
        return signalPassFailure();
      }
  }

private:
  /// Prints "//   m0 of 1: dims 64x512x1, strides 1536x786432, box 64x128x1".
  static void describeMap(llvm::raw_ostream &os, size_t index,
                          const artifact::TensorMap &map) {
    auto list = [&](StringRef title, const auto *sizes, uint32_t count) {
      os << title;
      llvm::interleave(ArrayRef(sizes, count), os, "x");
    };
    os << "//   m" << index << " of " << map.argument << ":";
    list(" dims ", map.dims, map.rank);
    list(", strides ", map.strides, map.rank - 1);
    if (map.kind == artifact::MapKind::im2col) {
      list(", steps ", map.elementStrides, map.rank);
      list(", lower ", map.lower, map.rank - 2);
      list(", upper ", map.upper, map.rank - 2);
      os << ", channels " << map.channels << ", pixels " << map.pixels;
    } else {
      list(", box ", map.box, map.rank);
    }
    os << "\n";
  }

  static llvm::Error compileFor(const std::string &text, StringRef arch) {
    auto code = compileCuda(text, arch);
    if (!code)
      return code.takeError();
    llvm::outs() << "// compiled for " << arch << "\n";
    return llvm::Error::success();
  }

  Option<std::string> arch{*this, "arch", llvm::cl::desc("the target"),
                           llvm::cl::init("sm_90a")};
  Option<bool> libraries{*this, "libraries",
                         llvm::cl::desc("plan for cuBLASLt and cuDNN"),
                         llvm::cl::init(true)};
  ListOption<std::string> compile{
      *this, "compile", llvm::cl::desc("architectures to compile for")};
};
} // namespace

void frit::cuda::registerPrintCudaPass() { PassRegistration<PrintCudaPass>(); }
