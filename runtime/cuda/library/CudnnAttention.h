//===- CudnnAttention.h - Graphs of attention and its gradient ------------===//

#ifndef FRIT_RUNTIME_CUDA_LIBRARY_CUDNNATTENTION_H
#define FRIT_RUNTIME_CUDA_LIBRARY_CUDNNATTENTION_H

#include "runtime/cuda/library/CudnnCall.h"

#include <limits>

namespace frit::cuda {

/// cuDNN copies rows in pieces of this many bytes, but does not check that row
/// lengths are multiples of it.
inline constexpr int64_t kPieceBytes = 16;
inline constexpr int64_t kHalfBytes = 2;

int64_t maskBytesOf(artifact::DType type);

/// Returns the address of an operand with elements of `bytes` bytes.
inline void *placeOf(std::span<const DevicePointer> arguments,
                     const artifact::StridedOperand &operand, int64_t bytes) {
  return pointer(arguments[operand.argument] +
                 uint64_t(operand.offset * bytes));
}

/// Returns an operand's shape. The plan's stride of a dimension of size 1 is
/// arbitrary; cuDNN requires a plausible one.
DnnShape shapeOf(const artifact::StridedOperand &operand, int64_t batch,
                 int64_t heads, int64_t rows, int64_t columns);

/// Returns whether the graphs below express the problem.
bool supportsAttention(const artifact::Attention &problem, size_t version);

/// Returns the value of a masked score. Engines before 9.10 recognize the
/// lowest finite number.
inline float hiddenScore(size_t version) {
  return version < 91000 ? std::numeric_limits<float>::lowest()
                         : -std::numeric_limits<float>::infinity();
}

/// The graph of one problem: attention or its gradient.
struct AttentionGraph {
  AttentionGraph(const Cudnn &dnn, const artifact::Attention &problem)
      : problem(problem), dnn(dnn), graph(dnn) {}

  /// The problem of every call that shares this graph, with `algorithm` 0.
  const artifact::Attention problem;
  const Cudnn &dnn;
  CudnnGraph graph;
  float hidden = hiddenScore(dnn.version);
};

/// Describes attention to the library.
class AttentionBuilder {
public:
  AttentionBuilder(const artifact::Attention &problem, CudnnGraph &graph);

  /// Builds the graph of attention. Pointers: q, k, v, y, the scale, if
  /// `causal` the value of masked scores, and the mask if there is one.
  void buildForward();

  /// Builds the graph of the gradient. Pointers: q, k, v, y, dy, stats, dq, dk,
  /// dv, the scale, one, sums and dq in f32 as intermediate results. Then the
  /// value of masked scores if the problem is causal or has lengths, the mask
  /// as above, and the lengths if there are any: queries and keys per batch
  /// element, i32.
  void buildGradient();

private:
  DnnDescriptor operand(const artifact::StridedOperand &from, int64_t heads,
                        int64_t count, int64_t size, bool transposed = false,
                        CudnnGraph::Memory memory = CudnnGraph::Memory::device);
  int halfType() const;
  DnnDescriptor mask();
  DnnDescriptor mathOf(int mode, DnnDescriptor x, DnnDescriptor b = nullptr);
  DnnDescriptor indexOf(DnnDescriptor x, int64_t axis);
  DnnDescriptor compare(int mode, DnnDescriptor x, DnnDescriptor b);
  DnnDescriptor hideLaterKeys(DnnDescriptor x, DnnDescriptor hidden);
  DnnDescriptor hideRest(DnnDescriptor x, DnnDescriptor hidden);
  DnnDescriptor softmax(DnnDescriptor x);
  DnnDescriptor transposedOf(DnnDescriptor x);
  void sumHeads(DnnDescriptor weights, DnnDescriptor x, DnnDescriptor result,
                int64_t size);

  const artifact::Attention &p;
  CudnnGraph &graph;
  DnnShape scores,
      rows; ///< of intermediate tensors: per query and key, per query
  /// Numbers of queries and keys in use, if the gradient needs lengths.
  DnnDescriptor queries = nullptr, keys = nullptr;
};

/// Returns whether the gradient's graph has lengths, although all rows are in
/// use. Without lengths, engines of some versions compute wrong gradients if
/// their tiles do not divide the queries and keys: up to 9.15.0 for most
/// numbers of keys, and later versions for keys that fill half a tile (NVIDIA
/// cudnn-frontend, issue 628).
inline bool needsLengths(const artifact::Attention &problem) {
  constexpr int64_t tile = 128;
  return problem.queries % tile != 0 || problem.keys % tile != 0;
}

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LIBRARY_CUDNNATTENTION_H
