//===- CudnnAttention.cpp - Attention by cuDNN ----------------------------===//
//
// The graph of operations that cuDNN's fused attention engines recognize
// (NVIDIA cuDNN documentation, "Fused Flash Attention fprop"):
//
//   scores = q · kᵀ · scale + mask, -∞ where a key is later than the query
//   weights = exp(scores - max) / Σ exp(scores - max)
//   y = weights · v
//
// Only q, k, v, the mask and y are in memory; the rest stays inside the kernel.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/library/CudnnAttention.h"

#include <algorithm>
#include <climits>
#include <cstring>

using namespace frit;
using namespace frit::cuda;
using artifact::Attention;
using artifact::DType;
using artifact::StridedOperand;

static constexpr int64_t kPieceElements = kPieceBytes / kHalfBytes;
static constexpr int64_t kMaxSize = 256;

using Memory = CudnnGraph::Memory;

namespace {
class AttentionCall final : public CudnnCall {
public:
  AttentionCall(DnnHandle handle, AttentionGraph &attention, uint32_t algorithm)
      : CudnnCall(attention.dnn, handle, attention.graph, algorithm,
                  attention.problem.workspaceBytes),
        attention(attention) {}

  bool enqueue(std::span<const DevicePointer> arguments,
               Stream stream) override;
  std::string name() const override {
    return nameOf(format("attention %u", used().number));
  }

private:
  AttentionGraph &attention;
};
} // namespace

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

int64_t frit::cuda::maskBytesOf(DType type) {
  return type == DType::f32 ? 4 : kHalfBytes;
}

bool frit::cuda::supportsAttention(const Attention &p, size_t version) {
  for (int64_t size : {p.batch, p.heads, p.groups, p.queries, p.keys})
    if (size > INT_MAX)
      return false;
  for (int64_t size : {p.size, p.valueSize})
    if (size % kPieceElements || size > kMaxSize)
      return false;
  const StridedOperand *operands[] = {&p.q,  &p.y,  &p.k,  &p.v,
                                      &p.dy, &p.dq, &p.dk, &p.dv};
  for (const StridedOperand *operand :
       std::span(operands).first(p.gradient ? 8 : 4)) {
    bool isKeys = operand == &p.k || operand == &p.v || operand == &p.dk ||
                  operand == &p.dv;
    const int64_t dims[] = {p.batch, isKeys ? p.groups : p.heads,
                            isKeys ? p.keys : p.queries};
    for (int i = 0; i < 3; ++i)
      if (dims[i] > 1 &&
          (!operand->strides[i] || operand->strides[i] % kPieceElements))
        return false;
    if (operand->offset % kPieceElements || operand->strides[3] != 1)
      return false;
  }
  // cuDNN 9.10.0 and 9.10.1 compute wrong results.
  return version != 91000 && version != 91001 && isHalf(p.type) &&
         (!p.hasMask || isHalf(p.typeMask) || p.typeMask == DType::f32);
}

DnnShape frit::cuda::shapeOf(const StridedOperand &operand, int64_t batch,
                             int64_t heads, int64_t rows, int64_t columns) {
  DnnShape shape = {{batch, heads, rows, columns}, {}};
  int64_t whole = 1;
  for (int i = 0; i < 4; ++i)
    whole = std::max(whole, operand.strides[i] * shape.dims[i]);
  for (int i = 0; i < 4; ++i)
    shape.strides[i] = shape.dims[i] > 1 ? operand.strides[i] : whole;
  return shape;
}

DnnDescriptor AttentionBuilder::operand(const StridedOperand &from,
                                        int64_t heads, int64_t count,
                                        int64_t size, bool transposed,
                                        Memory memory) {
  DnnShape shape = shapeOf(from, p.batch, heads, count, size);
  if (transposed) {
    std::swap(shape.dims[2], shape.dims[3]);
    std::swap(shape.strides[2], shape.strides[3]);
  }
  // Intermediate results are f32.
  return graph.tensor(memory == Memory::none ? kDnnFloat : halfType(), shape,
                      memory, kPieceBytes);
}

int AttentionBuilder::halfType() const { return dnnTypeOf(p.type); }

/// Returns the mask's tensor. Broadcast dimensions have size 1, except queries
/// in the gradient, which have stride 0: with size 1, engines of 9.14 and 9.19
/// compute wrong gradients.
DnnDescriptor AttentionBuilder::mask() {
  const int64_t *strides = p.mask.strides;
  DnnShape shape = shapeOf(
      p.mask, strides[0] ? p.batch : 1, strides[1] ? p.heads : 1,
      strides[2] || p.gradient ? p.queries : 1, strides[3] ? p.keys : 1);
  return graph.tensor(dnnTypeOf(p.typeMask), shape, Memory::device,
                      maskBytesOf(p.typeMask));
}

DnnDescriptor AttentionBuilder::mathOf(int mode, DnnDescriptor x,
                                       DnnDescriptor b) {
  DnnDescriptor y = graph.tensor(kDnnFloat, scores);
  graph.add(kDnnElementwise, mode, kDnnFloat, {y, x, b});
  return y;
}

DnnDescriptor AttentionBuilder::indexOf(DnnDescriptor x, int64_t axis) {
  DnnDescriptor index = graph.tensor(kDnnInt32, scores);
  graph.add(kDnnElementwise, kDnnIndex, kDnnFloat, {index, x}, axis);
  return index;
}

DnnDescriptor AttentionBuilder::compare(int mode, DnnDescriptor x,
                                        DnnDescriptor b) {
  DnnDescriptor y = graph.tensor(kDnnBoolean, scores);
  graph.add(kDnnElementwise, mode, kDnnBoolean, {y, x, b});
  return y;
}

DnnDescriptor AttentionBuilder::hideLaterKeys(DnnDescriptor x,
                                              DnnDescriptor hidden) {
  DnnDescriptor query = indexOf(x, /*axis=*/2), key = indexOf(x, /*axis=*/3);
  DnnDescriptor isSeen = compare(kDnnGreaterOrEqual, query, key);
  DnnDescriptor y = graph.tensor(kDnnFloat, scores);
  graph.add(kDnnElementwise, kDnnSelect, kDnnFloat, {y, x, hidden, isSeen});
  return y;
}

DnnDescriptor AttentionBuilder::softmax(DnnDescriptor x) {
  DnnDescriptor most = graph.tensor(kDnnFloat, rows);
  graph.add(kDnnReduce, kDnnReduceMax, kDnnFloat, {most, x});
  DnnDescriptor powers = mathOf(kDnnExponential, mathOf(kDnnSubtract, x, most));
  DnnDescriptor sum = graph.tensor(kDnnFloat, rows);
  graph.add(kDnnReduce, kDnnReduceAdd, kDnnFloat, {sum, powers});
  // The engines recognize the graph only with log Σ exp(scores), which only the
  // gradient reads.
  DnnDescriptor log = graph.tensor(kDnnFloat, rows);
  graph.add(kDnnElementwise, kDnnLogarithm, kDnnFloat, {log, sum});
  graph.add(kDnnElementwise, kDnnAdd, kDnnFloat,
            {graph.tensor(kDnnFloat, rows), most, log});
  // The weights are rounded to the type of v.
  DnnDescriptor weights = graph.tensor(dnnTypeOf(p.type), scores);
  graph.add(kDnnElementwise, kDnnDivide, kDnnFloat, {weights, powers, sum});
  return weights;
}

AttentionBuilder::AttentionBuilder(const Attention &problem, CudnnGraph &graph)
    : p(problem), graph(graph) {
  scores = {{p.batch, p.heads, p.queries, p.keys},
            {p.heads * p.queries * p.keys, p.queries * p.keys, p.keys, 1}};
  rows = {{p.batch, p.heads, p.queries, 1},
          {p.heads * p.queries, p.queries, 1, 1}};
}

void AttentionBuilder::buildForward() {
  const DnnShape one = {{1, 1, 1, 1}, {1, 1, 1, 1}};
  // In the order of the pointers in `enqueue`.
  DnnDescriptor q = operand(p.q, p.heads, p.queries, p.size);
  DnnDescriptor k = operand(p.k, p.groups, p.keys, p.size, /*transposed=*/true);
  DnnDescriptor v = operand(p.v, p.groups, p.keys, p.valueSize);
  DnnDescriptor y = operand(p.y, p.heads, p.queries, p.valueSize);
  DnnDescriptor scale = graph.tensor(kDnnFloat, one, Memory::host);
  DnnDescriptor hidden =
      p.causal ? graph.tensor(kDnnFloat, one, Memory::host) : nullptr;
  DnnDescriptor added = p.hasMask ? mask() : nullptr;

  DnnDescriptor x = graph.tensor(kDnnFloat, scores);
  graph.add(kDnnProduct, /*mode=*/0, kDnnFloat, {x, q, k});
  x = mathOf(kDnnMultiply, x, scale);
  if (added)
    x = mathOf(kDnnAdd, x, added);
  if (hidden)
    x = hideLaterKeys(x, hidden);
  graph.add(kDnnProduct, /*mode=*/0, kDnnFloat, {y, softmax(x), v});
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

AttentionGraph &CudnnHandle::graphOf(const Attention &problem) {
  Attention general = problem;
  general.algorithm = 0;
  for (const auto &known : attentions)
    if (!memcmp(&known->problem, &general, sizeof general))
      return *known;
  // An unsupported problem stays in the list, without engines.
  attentions.push_back(std::make_shared<AttentionGraph>(dnn, general));
  AttentionGraph &made = *attentions.back();
  if (!supportsAttention(general, dnn.version))
    return made;
  AttentionBuilder builder(made.problem, made.graph);
  if (general.gradient)
    builder.buildGradient();
  else
    builder.buildForward();
  if (dnn.deterministic)
    (void)made.graph.close(handle, 1u << kDnnNondeterministic);
  else
    (void)made.graph.close(handle);
  return made;
}

std::unique_ptr<LibraryCall>
CudnnHandle::prepare(const Attention &problem,
                     std::span<const uint32_t> alignments) {
  for (uint32_t bytes : alignments.first(problem.inputs + 1))
    if (bytes < kPieceBytes)
      return nullptr;
  if (problem.gradient)
    return prepareGradient(problem);
  auto call = std::make_unique<AttentionCall>(handle, graphOf(problem),
                                              problem.algorithm);
  if (!call->findPlan())
    return nullptr;
  return call;
}

bool AttentionCall::enqueue(std::span<const DevicePointer> arguments,
                            Stream stream) {
  const Attention &p = attention.problem;
  auto place = [&](const StridedOperand &operand, int64_t bytes) {
    return placeOf(arguments, operand, bytes);
  };
  float scale = p.scale;
  void *pointers[7] = {place(p.q, kHalfBytes), place(p.k, kHalfBytes),
                       place(p.v, kHalfBytes), place(p.y, kHalfBytes), &scale};
  void **next = pointers + 5;
  if (p.causal)
    *next++ = &attention.hidden;
  if (p.hasMask)
    *next++ = place(p.mask, maskBytesOf(p.typeMask));
  void *workspace = arguments.size() > p.inputs + 1
                        ? pointer(arguments[p.inputs + 1])
                        : nullptr;
  return run(stream, pointers, workspace);
}
