//===- CudaCode.cpp - A CUDA program's kernels as device code -------------===//

#include "compiler/driver/CudaCode.h"

#include "codegen/cuda/EmitModule.h"
#include "codegen/cuda/Nvrtc.h"

using namespace mlir;
using namespace frit;

static Attribute tensorMapAttr(const cuda::TensorMap &map, Builder &b) {
  auto list = [&](ArrayRef<int64_t> values) {
    return values.empty() ? DenseI64ArrayAttr()
                          : b.getDenseI64ArrayAttr(values);
  };
  SmallVector<int64_t, 5> steps = map.elementStrides;
  if (steps.empty())
    steps.assign(map.dims.size(), 1);
  return plan::TensorMapAttr::get(
      b.getContext(), map.argument, map.offset, map.type,
      map.im2col ? plan::MapKind::im2col : plan::MapKind::tiled,
      b.getDenseI64ArrayAttr(map.dims), b.getDenseI64ArrayAttr(map.strides),
      list(map.box), b.getDenseI64ArrayAttr(steps), map.swizzle,
      list(map.lower), list(map.upper), map.channels, map.pixels);
}

FailureOr<std::string> frit::emitProgram(plan::ProgramOp program,
                                         const cuda::CudaTarget &target) {
  SmallVector<cuda::KernelText> kernels;
  Builder b(program.getContext());
  for (auto kernel : program.getBody().getOps<plan::KernelOp>()) {
    auto fusion = cast<nn::FusionOp>(kernel.getFusion());
    FailureOr<cuda::KernelText> text =
        cuda::emitKernel(fusion, kernel.getSymName(), target);
    if (failed(text))
      return failure();
    kernel.setGridAttr(b.getDenseI64ArrayAttr(text->grid));
    kernel.setBlockAttr(b.getDenseI64ArrayAttr(text->block));
    kernel.setSharedBytesAttr(b.getI64IntegerAttr(text->sharedBytes));
    kernel.setWaits(cuda::waitsForInputs(target.arch()));
    if (!text->tensorMaps.empty())
      kernel.setTensorMapsAttr(b.getArrayAttr(llvm::map_to_vector(
          text->tensorMaps, [&](auto &map) { return tensorMapAttr(map, b); })));
    kernels.push_back(std::move(*text));
  }
  return cuda::emitModule(kernels);
}

llvm::Expected<artifact::TargetCode>
frit::compileProgram(const std::string &text, StringRef arch) {
  llvm::Expected<std::vector<std::string>> compiled =
      cuda::compileCudaForAll(text, {arch.str(), cuda::ptxFloor({arch.str()})});
  if (!compiled)
    return compiled.takeError();
  artifact::TargetCode code;
  code.cubin = std::move((*compiled)[0]);
  code.ptx = std::move((*compiled)[1]);
  return code;
}
