//===- CudnnAttentionGradient.cpp - Gradients of attention by cuDNN -------===//
//
// The graph that cuDNN's fused engines recognize (NVIDIA cuDNN documentation,
// "Fused Flash Attention bprop"; Dao, "FlashAttention-2", arXiv:2307.08691):
//
//   weights = exp(q · kᵀ · scale + mask - stats)     stats = log Σ exp(scores)
//   dv = weightsᵀ · dy
//   dscores = weights · (dy · vᵀ - Σ dy · y) · scale
//   dq = dscores · k, dk = dscoresᵀ · q
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/library/CudnnAttention.h"

using namespace frit;
using namespace frit::cuda;
using artifact::Attention;
using artifact::AttentionScratch;
using artifact::StridedOperand;
using Memory = CudnnGraph::Memory;

/// Minimum version. Earlier ones require that dq's sums are zeroed before the
/// call.
static constexpr size_t kOldestVersion = 90600;

/// Minimum version with lengths. Earlier ones require that they are applied
/// twice.
static constexpr size_t kOldestWithLengths = 91002;

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// Returns the transpose of scores, with keys as rows, rounded to the type of
/// the operands.
DnnDescriptor AttentionBuilder::transposedOf(DnnDescriptor x) {
  DnnShape turned = scores;
  std::swap(turned.dims[2], turned.dims[3]);
  std::swap(turned.strides[2], turned.strides[3]);
  DnnDescriptor y = graph.tensor(halfType(), turned);
  graph.add(kDnnReshape, /*mode=*/0, kDnnFloat, {y, x});
  return y;
}

/// Masks scores outside of the lengths.
DnnDescriptor AttentionBuilder::hideRest(DnnDescriptor x,
                                         DnnDescriptor hidden) {
  DnnDescriptor query = indexOf(x, /*axis=*/2), key = indexOf(x, /*axis=*/3);
  DnnDescriptor isRow = compare(kDnnLess, query, queries);
  DnnDescriptor isColumn = compare(kDnnLess, key, keys);
  DnnDescriptor y = graph.tensor(kDnnFloat, scores);
  graph.add(kDnnElementwise, kDnnSelect, kDnnFloat,
            {y, x, hidden, compare(kDnnAnd, isRow, isColumn)});
  return y;
}

/// Adds result = weights · x, summed over the heads that share keys.
void AttentionBuilder::sumHeads(DnnDescriptor weights, DnnDescriptor x,
                                DnnDescriptor result, int64_t size) {
  if (p.heads == p.groups) {
    graph.add(kDnnProduct, /*mode=*/0, kDnnFloat,
              {result, weights, x, keys, nullptr, queries});
    return;
  }
  const DnnShape all = {{p.batch, p.heads, p.keys, size},
                        {p.heads * p.keys * size, p.keys * size, size, 1}};
  DnnDescriptor each = graph.tensor(halfType(), all);
  graph.add(kDnnProduct, /*mode=*/0, kDnnFloat,
            {each, weights, x, keys, nullptr, queries});
  graph.add(kDnnReduce, kDnnReduceAdd, kDnnFloat, {result, each});
}

void AttentionBuilder::buildGradient() {
  const DnnShape one = {{1, 1, 1, 1}, {1, 1, 1, 1}};
  const DnnShape wide = {
      {p.batch, p.heads, p.queries, p.size},
      {p.heads * p.queries * p.size, p.queries * p.size, p.size, 1}};
  const DnnShape wideY = {{p.batch, p.heads, p.queries, p.valueSize},
                          {p.heads * p.queries * p.valueSize,
                           p.queries * p.valueSize, p.valueSize, 1}};
  // In the order of the pointers in `enqueue`.
  DnnDescriptor q = operand(p.q, p.heads, p.queries, p.size);
  DnnDescriptor k = operand(p.k, p.groups, p.keys, p.size, /*transposed=*/true);
  DnnDescriptor v =
      operand(p.v, p.groups, p.keys, p.valueSize, /*transposed=*/true);
  DnnDescriptor y = operand(p.y, p.heads, p.queries, p.valueSize);
  DnnDescriptor dy = operand(p.dy, p.heads, p.queries, p.valueSize);
  DnnDescriptor stats =
      graph.tensor(kDnnFloat, shapeOf(p.stats, p.batch, p.heads, p.queries, 1),
                   Memory::device);
  DnnDescriptor dq = operand(p.dq, p.heads, p.queries, p.size);
  DnnDescriptor dk = operand(p.dk, p.groups, p.keys, p.size);
  DnnDescriptor dv = operand(p.dv, p.groups, p.keys, p.valueSize);
  DnnDescriptor scale = graph.tensor(kDnnFloat, one, Memory::host);
  DnnDescriptor unit = graph.tensor(kDnnFloat, one, Memory::host);
  DnnDescriptor sums = graph.tensor(kDnnFloat, rows, Memory::device);
  DnnDescriptor dqSum = graph.tensor(kDnnFloat, wide, Memory::device);
  DnnDescriptor hidden = p.causal || needsLengths(p)
                             ? graph.tensor(kDnnFloat, one, Memory::host)
                             : nullptr;
  DnnDescriptor added = p.hasMask ? mask() : nullptr;
  if (needsLengths(p)) {
    const DnnShape each = {{p.batch, 1, 1, 1}, {1, 1, 1, 1}};
    queries = graph.tensor(kDnnInt32, each, Memory::device);
    keys = graph.tensor(kDnnInt32, each, Memory::device);
  }

  // Σ dy · y
  DnnDescriptor products = graph.tensor(kDnnFloat, wideY);
  graph.add(kDnnElementwise, kDnnMultiply, kDnnFloat, {products, dy, y});
  DnnDescriptor sum = graph.tensor(kDnnFloat, rows);
  graph.add(kDnnReduce, kDnnReduceAdd, kDnnFloat, {sum, products});
  graph.add(kDnnElementwise, kDnnMultiply, kDnnFloat, {sums, sum, unit});

  DnnDescriptor x = graph.tensor(kDnnFloat, scores);
  graph.add(kDnnProduct, /*mode=*/0, kDnnFloat, {x, q, k, queries, keys});
  x = mathOf(kDnnMultiply, x, scale);
  if (added)
    x = mathOf(kDnnAdd, x, added);
  if (queries)
    x = hideRest(x, hidden);
  x = mathOf(kDnnSubtract, x, stats);
  if (p.causal)
    x = hideLaterKeys(x, hidden);
  DnnDescriptor weights = mathOf(kDnnExponential, x);
  sumHeads(transposedOf(weights), dy, dv, p.valueSize);

  DnnDescriptor ds = graph.tensor(kDnnFloat, scores);
  graph.add(kDnnProduct, /*mode=*/0, kDnnFloat, {ds, dy, v, queries, keys});
  ds = mathOf(kDnnSubtract, ds, sums);
  ds = mathOf(kDnnMultiply, ds, weights);
  ds = mathOf(kDnnMultiply, ds, scale);
  sumHeads(transposedOf(ds), q, dk, p.size);

  DnnDescriptor rowsOfK = operand(p.k, p.groups, p.keys, p.size,
                                  /*transposed=*/false, Memory::none);
  graph.add(kDnnReshape, /*mode=*/0, kDnnFloat, {rowsOfK, k});
  graph.add(kDnnProduct, /*mode=*/0, kDnnFloat,
            {dqSum, ds, rowsOfK, queries, nullptr, keys});
  graph.add(kDnnElementwise, kDnnIdentity, kDnnFloat, {dq, dqSum});
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {
class AttentionGradientCall final : public CudnnCall {
public:
  AttentionGradientCall(const CudnnHandle &handle, AttentionGraph &gradient,
                        uint32_t algorithm, uint64_t workspaceBytes)
      : CudnnCall(gradient.dnn, handle.handle, gradient.graph, algorithm,
                  workspaceBytes),
        driver(handle.driver), gradient(gradient) {}

  bool enqueue(std::span<const DevicePointer> arguments,
               Stream stream) override;
  std::string name() const override {
    return nameOf(format("attention backward %u", used().number));
  }

private:
  const Api &driver;
  AttentionGraph &gradient;
};
} // namespace

std::unique_ptr<LibraryCall>
CudnnHandle::prepareGradient(const Attention &problem) {
  const uint64_t scratch = AttentionScratch(problem).bytes;
  // dq is summed by atomic additions, in no fixed order.
  if (dnn.deterministic || dnn.version < kOldestVersion ||
      (dnn.version < kOldestWithLengths && needsLengths(problem)) ||
      (problem.queries == 1 && problem.keys == 1) ||
      problem.workspaceBytes < scratch)
    return nullptr;
  auto call = std::make_unique<AttentionGradientCall>(
      *this, graphOf(problem), problem.algorithm,
      problem.workspaceBytes - scratch);
  if (!call->findPlan())
    return nullptr;
  return call;
}

bool AttentionGradientCall::enqueue(std::span<const DevicePointer> arguments,
                                    Stream stream) {
  const Attention &p = gradient.problem;
  auto half = [&](const StridedOperand &operand) {
    return placeOf(arguments, operand, kHalfBytes);
  };
  const AttentionScratch scratch(p);
  const DevicePointer workspace = arguments[p.inputs + 1];
  auto part = [&](uint64_t offset) { return pointer(workspace + offset); };
  float scale = p.scale, one = 1;
  void *pointers[17] = {
      half(p.q),       half(p.k),  half(p.v),
      half(p.y),       half(p.dy), placeOf(arguments, p.stats, sizeof(float)),
      half(p.dq),      half(p.dk), half(p.dv),
      &scale,          &one,       part(scratch.sums),
      part(scratch.dq)};
  void **next = pointers + 13;
  if (p.causal || needsLengths(p))
    *next++ = &gradient.hidden;
  if (p.hasMask)
    *next++ = placeOf(arguments, p.mask, maskBytesOf(p.typeMask));
  if (needsLengths(p)) {
    const struct {
      uint64_t offset;
      int64_t length;
    } lengths[] = {{scratch.queries, p.queries}, {scratch.keys, p.keys}};
    for (const auto &[offset, length] : lengths) {
      *next++ = part(offset);
      if (driver.memsetD32Async(workspace + offset, unsigned(length),
                                size_t(p.batch), stream) != kSuccess)
        return false;
    }
  }
  return run(stream, pointers, part(scratch.bytes));
}
