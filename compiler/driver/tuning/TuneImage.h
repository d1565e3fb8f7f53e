//===- TuneImage.h - An image that repeats a contraction ------------------===//

#ifndef FRIT_COMPILER_DRIVER_TUNING_TUNEIMAGE_H
#define FRIT_COMPILER_DRIVER_TUNING_TUNEIMAGE_H

#include "codegen/artifact/Serialize.h"
#include "codegen/cuda/compile/EmitModule.h"
#include "dialects/nn/NN.h"
#include "frit/image.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace frit {

/// A plan whose call runs one fusion a few times in a row, each time with other
/// weights, as a network would. Weights come from memory, the other inputs from
/// L2 if they fit. Several schedules alternate, in rounds.
class TuneImage {
public:
  TuneImage(nn::FusionOp fusion, llvm::ArrayRef<nn::Schedule> schedules,
            const cuda::CudaOptions &options);

  /// Makes the plan and its CUDA text. For one thread at a time.
  llvm::Error emit();
  /// Makes the machine code. For any thread.
  llvm::Error compile();
  /// Returns the whole image, in this object's memory.
  llvm::Expected<frit_image> finish();

  /// Returns the rounds of a call.
  unsigned rounds() const { return count; }

private:
  void build();

  nn::FusionOp fusion;
  llvm::SmallVector<nn::Schedule, 2> schedules;
  cuda::CudaOptions options;
  unsigned count = 1;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<cuda::ModuleText> texts;
  artifact::TargetCode code;
  artifact::Image image;
  std::vector<char> weights;
};

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_TUNING_TUNEIMAGE_H
