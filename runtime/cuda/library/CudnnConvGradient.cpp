//===- CudnnConvGradient.cpp - Gradients of convolutions by cuDNN ---------===//
//
// A graph of one operation (NVIDIA cuDNN documentation, "Graph API"):
// convolution backward data or backward filter. Its engines are those that
// cuDNN's heuristics return, if they are exact enough and their workspace fits.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/library/CudnnCall.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace frit;
using namespace frit::cuda;
using artifact::Compute;
using artifact::Conv;
using artifact::ConvPass;
using artifact::DType;

namespace frit::cuda {
struct ConvGradientGraph {
  ConvGradientGraph(const Cudnn &dnn, const Conv &problem,
                    const std::array<uint32_t, 3> &alignments)
      : problem(problem), alignments(alignments), dnn(dnn), graph(dnn) {}

  /// The problem of every call that shares this graph, with `algorithm` 0.
  const Conv problem;
  const std::array<uint32_t, 3> alignments;
  const Cudnn &dnn;
  CudnnGraph graph;
};
} // namespace frit::cuda

namespace {
class ConvGradientCall final : public CudnnCall {
public:
  ConvGradientCall(DnnHandle handle, ConvGradientGraph &gradient,
                   const Conv &problem)
      : CudnnCall(gradient.dnn, handle, gradient.graph, problem.algorithm,
                  problem.workspaceBytes),
        pass(problem.pass) {}

  bool enqueue(std::span<const DevicePointer> arguments,
               Stream stream) override;
  std::string name() const override;

private:
  ConvPass pass;
};
} // namespace

static bool takes(const Conv &p) {
  bool typed = p.compute == Compute::f16
                   ? isHalf(p.type)
                   : p.type == DType::f32 && (p.compute == Compute::f32 ||
                                              p.compute == Compute::tf32);
  return typed && supportsWindow(p);
}

/// Dimensions are n, c, h, w in either layout.
static DnnShape shapeOf(bool last, int64_t n, int64_t c, int64_t h, int64_t w) {
  if (last)
    return {{n, c, h, w}, {h * w * c, 1, w * c, c}};
  return {{n, c, h, w}, {c * h * w, h * w, w, 1}};
}

/// Describes the problem to the library.
static void build(ConvGradientGraph &gradient) {
  const Conv &p = gradient.problem;
  CudnnGraph &graph = gradient.graph;
  bool last = p.channelsLast, ofWeight = p.pass == ConvPass::gradWeight;
  const DnnShape x = shapeOf(last, p.n, p.c, p.h, p.w);
  const DnnShape y = shapeOf(last, p.n, p.k, p.p, p.q);
  const DnnShape w = shapeOf(last, p.k, p.c / p.groups, p.r, p.s);
  int type = dnnTypeOf(p.type);
  // In the order of the arguments.
  DnnDescriptor operands[3];
  const DnnShape *shapes[] = {ofWeight ? &x : &y, ofWeight ? &y : &w,
                              ofWeight ? &w : &x};
  for (int i = 0; i < 3; ++i)
    operands[i] = graph.tensor(type, *shapes[i], CudnnGraph::Memory::device,
                               gradient.alignments[size_t(i)]);
  const DnnWindow window = {{p.strideH, p.strideW},
                            {p.dilationH, p.dilationW},
                            {p.padTop, p.padLeft},
                            {p.padTop, p.padLeft}};
  graph.add(ofWeight ? kDnnGradWeight : kDnnGradInput, window,
            {operands[2], operands[0], operands[1]});
}

/// Returns notes of engines to exclude: those with too little precision and, if
/// results must be deterministic, those that are not.
static uint32_t refusedNotes(const Conv &p, bool deterministic) {
  uint32_t refused = 1u << kDnnReducedPrecision;
  if (deterministic)
    refused |= 1u << kDnnNondeterministic;
  if (p.compute == Compute::f16) {
    refused |= 1u << kDnnUsesFft;
    for (int note = kDnnWinograd; note <= kDnnWinograd13; ++note)
      refused |= 1u << note;
  } else {
    refused |= 1u << kDnnDownConverts;
  }
  // With strict f32, nothing may round to TF32.
  if (p.compute == Compute::f32)
    refused |= 1u << kDnnTensorCore;
  return refused;
}

std::unique_ptr<LibraryCall>
CudnnHandle::prepareGradient(const Conv &problem,
                             std::span<const uint32_t> alignments) {
  if (!takes(problem))
    return nullptr;
  Conv general = problem;
  general.algorithm = 0;
  const std::array<uint32_t, 3> own = {alignments[0], alignments[1],
                                       alignments[2]};
  ConvGradientGraph *graph = nullptr;
  for (const auto &known : gradients)
    if (!memcmp(&known->problem, &general, sizeof general) &&
        known->alignments == own)
      graph = known.get();
  if (!graph) {
    // An unsupported problem stays in the list, without engines.
    gradients.push_back(std::make_shared<ConvGradientGraph>(dnn, general, own));
    graph = gradients.back().get();
    build(*graph);
    (void)graph->graph.close(handle, refusedNotes(general, dnn.deterministic));
  }
  auto call = std::make_unique<ConvGradientCall>(handle, *graph, problem);
  if (!call->findPlan())
    return nullptr;
  return call;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

bool ConvGradientCall::enqueue(std::span<const DevicePointer> arguments,
                               Stream stream) {
  void *pointers[4] = {};
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), 4); ++i)
    pointers[i] = pointer(arguments[i]);
  return run(stream, pointers, /*workspace=*/pointers[3]);
}

std::string ConvGradientCall::name() const {
  bool varies = used().notes >> kDnnNondeterministic & 1;
  return nameOf(
      format("%s engine %u%s",
             pass == ConvPass::gradInput ? "backward data" : "backward filter",
             used().index, varies ? ", not deterministic" : ""));
}
