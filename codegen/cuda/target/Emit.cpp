//===- Emit.cpp - A fusion as CUDA C++ ------------------------------------===//

#include "codegen/cuda/target/Emit.h"

#include "codegen/cuda/custom/UserText.h"
#include "codegen/cuda/target/Skeleton.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

FailureOr<KernelText> frit::cuda::emitKernel(nn::FusionOp fusion,
                                             StringRef name,
                                             const CudaTarget &target) {
  nn::Schedule schedule = fusion.getScheduleAttr();
  const Skeleton *skeleton = schedule ? skeletonOf(schedule) : nullptr;
  if (!skeleton)
    return emitError(fusion.getLoc()) << "has no schedule of a CUDA kernel";
  Problem problem(fusion);
  auto kernel = skeleton->kernelOf(problem, schedule, target.machine());
  if (!kernel)
    return emitError(fusion.getLoc())
           << "has no CUDA kernel: " << kernel.reason() << " (schedule "
           << schedule << ")";
  KernelText text = (*kernel)->emit(name);
  addUserFunctions(text, fusion);
  return text;
}
