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

/// Returns an element of D from two neighbours with their biases added.
template <class P> __device__ inline float gate(const float (&pair)[2]) {
  return pair[0] * typename P::Gate()(pair[1]);
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_GATE_CUH
