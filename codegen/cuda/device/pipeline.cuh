//===- pipeline.cuh - Positions in a ring of stages -----------------------===//
//
// The producer of a pipeline fills its stages in turn, the consumers read them
// in the same order. Each role counts for itself which stage comes next.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_PIPELINE_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_PIPELINE_CUH

#include "frit/base.cuh"

namespace frit {

/// A position in a ring of stages. `parity` is that of the current phase of the
/// stage's `full` barrier, which completes when the stage is filled.
template <int Stages> struct PipelineState {
  int stage = 0;
  uint32_t parity = 0;

  __device__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  /// Advances by at most `Stages` steps.
  __device__ void advance(int steps) {
    stage += steps;
    if (stage >= Stages) {
      stage -= Stages;
      parity ^= 1;
    }
  }
  /// Advances by any number of steps.
  __device__ void skip(int steps) {
    parity ^= (stage + steps) / Stages % 2;
    stage = (stage + steps) % Stages;
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_DEVICE_PIPELINE_CUH
