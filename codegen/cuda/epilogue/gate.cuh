//===- gate.cuh - Gated columns of products -------------------------------===//
//
// Of the sums of a product with P::Gate, an activation, every other column is a
// value, and the next one its gate (nn.gate_columns). D has half as many
// columns: values times the activation of their gates.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_EPILOGUE_GATE_CUH
#define FRIT_CODEGEN_CUDA_EPILOGUE_GATE_CUH

#include "frit/end_stages.cuh"

namespace frit {

/// Returns the column of D that the values at `column`, an even number, give.
/// The pairs of two groups of 8 columns give neighbours in turn.
__device__ constexpr int gatedColumn(int column) {
  return column / 16 * 8 + column % 8 + column % 16 / 8;
}

/// Returns an element of D from a value and its gate.
template <class P> __device__ inline float gate(float value, float by) {
  return value * typename P::Gate()(by);
}

/// Returns two f16 elements of D in a word. They are multiplied as f16, with
/// half the instructions.
template <class P>
__device__ inline uint32_t gateHalves(const float (&values)[2],
                                      const float (&gates)[2]) {
#if defined(FRIT_EMULATE) || __CUDA_ARCH__ < 800
  return packPair<f16>(gate<P>(values[0], gates[0]),
                       gate<P>(values[1], gates[1]));
#else
  uint32_t both = packPair<f16>(values[0], values[1]);
  asm("mul.rn.f16x2 %0, %0, %1;"
      : "+r"(both)
      : "r"(P::Gate::halves(gates[0], gates[1])));
  return both;
#endif
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_GATE_CUH
