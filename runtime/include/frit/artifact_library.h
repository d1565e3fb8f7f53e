//===- artifact_library.h - Problems of library calls ---------------------===//
//
// What steps of cuBLASLt and cuDNN compute. A part of frit/artifact.h.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_ARTIFACT_LIBRARY_H
#define FRIT_ARTIFACT_LIBRARY_H

#include "frit/activation.h"
#include "frit/artifact_types.h"

namespace frit::artifact {

/// Precision of a contraction's products and sums. It never accumulates below
/// f32.
enum class Compute : uint32_t {
  f32,  ///< IEEE single, no TF32
  tf32, ///< f32 operands, products rounded to TF32
  f16,  ///< 16-bit operands, f32 accumulation (bf16 too)
  f64,
  i32, ///< 8-bit operands, exact 32-bit sums
};

/// D[b] = act(A[b]·B[b] + bias + R[b]) for b < batch, all row major. A is m×k,
/// or k×m if `transposeA`; B is k×n, or n×k if `transposeB`; D and R are m×n;
/// bias is n. `ld*` are elements between rows as stored, `stride*` elements
/// between matrices (0 repeats one). Arguments: A, B, [bias], [R], D,
/// [workspace].
struct Gemm {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t strideA = 0, strideB = 0, strideD = 0;
  uint32_t transposeA = 0, transposeB = 0;
  DType typeA = DType::f32, typeB = DType::f32, typeD = DType::f32;
  Compute compute = Compute::f32;
  uint32_t hasBias = 0, hasResidual = 0;
  Activation activation = Activation::none;
  /// The runtime's number of the algorithm that tuning found fastest; 0: the
  /// library's heuristic chooses.
  uint32_t algorithm = 0;
  uint64_t workspaceBytes = 0;
};

/// What a convolution step computes: y, or the gradient with respect to x or w
/// from that with respect to y.
enum class ConvPass : uint32_t { forward, gradInput, gradWeight };

/// y = act(conv(x, w) + bias + R), cross-correlation as in ONNX Conv, two
/// spatial dimensions (a 1-d one has h = 1). Channels-last: x is n·h·w·c, w is
/// k·r·s·(c/groups), y is n·p·q·k. Otherwise x is n·c·h·w, w is
/// k·(c/groups)·r·s, y is n·k·p·q. bias is k, R is shaped like y.
/// Arguments: x, w, [bias], [R], y, [workspace]. For gradients dy, w, dx,
/// [workspace] or x, dy, dw, [workspace], where dx is shaped like x, and so on.
///
/// `quantized`, with x and w of i8 or u8 and channels last:
///   s = conv(x - xZero, w - wZero) + offset     exact, i32; padding is xZero
///   v = act(s · scale + bias)                   f32; act is none or relu
///   y = s if there are no `scales`, or v, or with `hasZeroY`
///       clamp(round(v) + yZero)                 i8 or u8, to nearest even
/// Arguments: x, w, xZero, wZero, [offset], [scale], [bias], [yZero], y. Zeros
/// are single bytes, yZero of y's type; offset is k of i32, scale `scales` (1
/// or k) of f32, bias k of f32.
struct Conv {
  int64_t n = 0, c = 0, h = 0, w = 0; ///< x
  int64_t k = 0, r = 0, s = 0;        ///< filters, filter height and width
  int64_t p = 0, q = 0;               ///< y's height and width
  int64_t strideH = 1, strideW = 1;
  int64_t dilationH = 1, dilationW = 1;
  int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
  int64_t groups = 1;
  uint32_t channelsLast = 0;
  DType type = DType::f32; ///< of x, w, bias, R, y and gradients
  Compute compute = Compute::f32;
  uint32_t hasBias = 0, hasResidual = 0;    ///< forward only
  Activation activation = Activation::none; ///< forward only
  uint32_t algorithm = 0;                   ///< as in Gemm
  ConvPass pass = ConvPass::forward;
  uint32_t quantized = 0;
  DType typeW = DType::f32, typeY = DType::f32; ///< quantized; else `type`
  uint32_t hasOffset = 0, hasZeroY = 0;         ///< quantized
  uint32_t reserved = 0;
  int64_t scales = 0; ///< quantized
  uint64_t workspaceBytes = 0;
};

/// A 4-d view of argument `argument`: element i lies at `offset` + Σ i[d] ·
/// `strides[d]`, counted in elements.
struct StridedOperand {
  uint32_t argument = 0;
  uint32_t reserved = 0;
  int64_t offset = 0;
  int64_t strides[4] = {};
};

/// y = softmax(q · kᵀ · scale + mask) · v, per head. Shapes: q is
/// batch×heads×queries×size, k batch×groups×keys×size, v
/// batch×groups×keys×valueSize, y batch×heads×queries×valueSize, `mask`
/// batch×heads×queries×keys. Each group of k and v serves heads/groups
/// consecutive heads. If `causal`, query i sees keys 0 to i only. Arguments:
/// `inputs` of them, y, [workspace].
///
/// With `gradient`, y, dy and stats are inputs too, and the step computes the
/// gradients dq, dk and dv, which are parts of one result. `stats` is
/// batch×heads×queries of f32: log Σ exp(scores), +inf for a query that sees no
/// key.
struct Attention {
  int64_t batch = 0, heads = 0, groups = 0;
  int64_t queries = 0, keys = 0, size = 0, valueSize = 0;
  StridedOperand q, k, v, mask, y;
  StridedOperand dy, stats, dq, dk, dv; ///< of a gradient
  uint32_t inputs = 0;
  float scale = 1;
  uint32_t causal = 0, hasMask = 0;
  DType type = DType::f16; ///< of all but the mask and stats
  DType typeMask = DType::f16;
  uint32_t algorithm = 0; ///< as in Gemm
  uint32_t gradient = 0;
  uint64_t workspaceBytes = 0;
};

/// Parts of the workspace of an attention's gradient, each aligned to
/// kAlignment. The library's engines use the rest, after these parts.
struct AttentionScratch {
  uint64_t sums, dq, queries, keys, bytes;

  explicit constexpr AttentionScratch(const Attention &a) {
    uint64_t rows = uint64_t(a.batch) * uint64_t(a.heads) * uint64_t(a.queries);
    auto after = [](uint64_t start, uint64_t size) {
      return (start + size + kAlignment - 1) / kAlignment * kAlignment;
    };
    sums = 0;
    dq = after(sums, rows * 4);
    // Lengths of each batch element.
    queries = after(dq, rows * uint64_t(a.size) * 4);
    keys = after(queries, uint64_t(a.batch) * 4);
    bytes = after(keys, uint64_t(a.batch) * 4);
  }
};

} // namespace frit::artifact

#endif // FRIT_ARTIFACT_LIBRARY_H
