//===- CudnnConv.cpp - Convolutions by cuDNN ------------------------------===//

#include "runtime/cuda/library/Cudnn.h"

#include <climits>

using namespace frit;
using namespace frit::cuda;
using artifact::Compute;
using artifact::Conv;
using artifact::DType;

namespace {
/// An algorithm by cuDNN's number, and its workspace.
struct ConvAlgorithm {
  int algorithm;
  size_t workspaceBytes;
};

/// Descriptors and algorithms for one convolution.
class ConvCall final : public ListedCall<ConvAlgorithm> {
public:
  ConvCall(const Cudnn &dnn, DnnHandle handle, const Conv &problem,
           DevicePointer zeros)
      : dnn(dnn), handle(handle), problem(problem), zeros(zeros) {}
  ~ConvCall() override;

  bool open();
  bool enqueue(std::span<const DevicePointer> arguments,
               Stream stream) override;
  std::string name() const override;

private:
  bool takes() const;
  bool describe(int math);
  void findAlgorithms();
  void addCandidate(int algorithm);
  /// Returns cuDNN's algorithm number plus one; 0 means "not chosen".
  uint32_t numberOf(const ConvAlgorithm &candidate) const override {
    return uint32_t(candidate.algorithm) + 1;
  }

  bool isFused() const {
    return problem.hasBias || problem.hasResidual ||
           problem.activation != Activation::none;
  }

  const Cudnn &dnn;
  DnnHandle handle;
  const Conv &problem;
  DevicePointer zeros;
  DnnTensor x = nullptr, y = nullptr, bias = nullptr;
  DnnFilter w = nullptr;
  DnnConvolution convolution = nullptr;
  DnnActivation activation = nullptr;
};
} // namespace

std::unique_ptr<LibraryCall>
CudnnHandle::prepare(const Conv &problem, DevicePointer zeros,
                     std::span<const uint32_t> alignments) {
  if (problem.pass != artifact::ConvPass::forward)
    return prepareGradient(problem, alignments);
  auto call = std::make_unique<ConvCall>(dnn, handle, problem, zeros);
  if (!call->open())
    return nullptr;
  return call;
}

ConvCall::~ConvCall() {
  for (DnnTensor tensor : {x, y, bias})
    if (tensor)
      dnn.tensorDestroy(tensor);
  if (w)
    dnn.filterDestroy(w);
  if (convolution)
    dnn.convolutionDestroy(convolution);
  if (activation)
    dnn.activationDestroy(activation);
}

/// Returns whether cuDNN's padding, which is the same on both sides, gives the
/// same output size as the model's. Then the windows, and the zeros they read,
/// are the same even if the model pads the far side differently.
static bool padsAlike(int64_t in, int64_t pad, int64_t size, int64_t stride,
                      int64_t dilation, int64_t out) {
  int64_t span = in + 2 * pad - (size - 1) * dilation - 1;
  return span >= 0 && span / stride + 1 == out;
}

bool frit::cuda::supportsWindow(const Conv &p) {
  for (int64_t size :
       {p.n, p.c, p.h, p.w, p.k, p.r, p.s, p.p, p.q, p.strideH, p.strideW,
        p.dilationH, p.dilationW, p.groups, p.padTop, p.padLeft})
    if (size > INT_MAX)
      return false;
  return padsAlike(p.h, p.padTop, p.r, p.strideH, p.dilationH, p.p) &&
         padsAlike(p.w, p.padLeft, p.s, p.strideW, p.dilationW, p.q);
}

bool ConvCall::takes() const {
  const Conv &p = problem;
  bool typed = p.compute == Compute::f16
                   ? isHalf(p.type)
                   : p.type == DType::f32 && (p.compute == Compute::f32 ||
                                              p.compute == Compute::tf32);
  return typed && supportsWindow(p) &&
         (p.activation == Activation::none || p.activation == Activation::relu);
}

bool ConvCall::describe(int math) {
  const Conv &p = problem;
  int type = dnnTypeOf(p.type);
  int format = p.channelsLast ? kDnnNhwc : kDnnNchw;
  bool relu = p.activation == Activation::relu;
  return !dnn.tensorCreate(&x) && !dnn.tensorCreate(&y) &&
         !dnn.tensorCreate(&bias) && !dnn.filterCreate(&w) &&
         !dnn.convolutionCreate(&convolution) &&
         !dnn.activationCreate(&activation) &&
         !dnn.tensorSet(x, format, type, int(p.n), int(p.c), int(p.h),
                        int(p.w)) &&
         !dnn.tensorSet(y, format, type, int(p.n), int(p.k), int(p.p),
                        int(p.q)) &&
         !dnn.tensorSet(bias, format, type, 1, int(p.k), 1, 1) &&
         !dnn.filterSet(w, type, format, int(p.k), int(p.c / p.groups),
                        int(p.r), int(p.s)) &&
         !dnn.convolutionSet(convolution, int(p.padTop), int(p.padLeft),
                             int(p.strideH), int(p.strideW), int(p.dilationH),
                             int(p.dilationW), kDnnCrossCorrelation,
                             kDnnFloat) &&
         !dnn.convolutionSetGroups(convolution, int(p.groups)) &&
         !dnn.convolutionSetMath(convolution, math) &&
         !dnn.activationSet(activation,
                            relu ? kDnnActivationRelu : kDnnActivationIdentity,
                            /*nanPropagation=*/0, 0.0);
}

void ConvCall::addCandidate(int algorithm) {
  for (const ConvAlgorithm &candidate : candidates)
    if (candidate.algorithm == algorithm)
      return;
  size_t bytes = 0;
  if (dnn.getWorkspaceSize(handle, x, w, convolution, y, algorithm, &bytes) ==
          0 &&
      bytes <= problem.workspaceBytes)
    candidates.push_back({algorithm, bytes});
}

void ConvCall::findAlgorithms() {
  DnnPerformance found[kDnnAlgorithmCount];
  int count = 0;
  if (dnn.getAlgorithms(handle, x, w, convolution, y, kDnnAlgorithmCount,
                        &count, found) != 0)
    count = 0;
  // A fused call without an activation accepts this algorithm only.
  bool oneOnly = isFused() && problem.activation == Activation::none;
  for (const DnnPerformance &result : std::span(found, size_t(count))) {
    // Skip FFT and Winograd with 16 bits, because of their precision.
    bool exact = problem.compute != Compute::f16 || result.algorithm < kDnnFft;
    // With strict f32, nothing may round to TF32.
    bool single = problem.compute != Compute::f32 ||
                  (result.mathType != kDnnTensorOp && result.mathType != 2);
    bool fixed = !dnn.deterministic || result.determinism == 1;
    if (result.status == 0 && exact && single && fixed && !oneOnly)
      addCandidate(result.algorithm);
  }
  addCandidate(kDnnImplicitPrecompGemm);
  if (!oneOnly)
    addCandidate(kDnnImplicitGemm);
  prefer(problem.algorithm);
}

bool ConvCall::open() {
  if (!takes() ||
      !describe(problem.compute == Compute::f32 ? kDnnFma : kDnnTensorOp))
    return false;
  findAlgorithms();
  return !candidates.empty();
}

bool ConvCall::enqueue(std::span<const DevicePointer> arguments,
                       Stream stream) {
  if (dnn.setStream(handle, stream))
    return false;
  const ConvAlgorithm &candidate = used();
  unsigned next = 2;
  void *added = pointer(problem.hasBias ? arguments[next++] : zeros);
  void *residual = problem.hasResidual ? pointer(arguments[next++]) : nullptr;
  void *result = pointer(arguments[next++]);
  void *workspace =
      next < arguments.size() ? pointer(arguments[next]) : nullptr;
  const float one = 1, zero = 0;
  if (!isFused())
    return dnn.convolve(handle, &one, x, pointer(arguments[0]), w,
                        pointer(arguments[1]), convolution, candidate.algorithm,
                        workspace, candidate.workspaceBytes, &zero, y,
                        result) == 0;
  return dnn.convolveFused(handle, &one, x, pointer(arguments[0]), w,
                           pointer(arguments[1]), convolution,
                           candidate.algorithm, workspace,
                           candidate.workspaceBytes, residual ? &one : &zero, y,
                           residual ? residual : result, bias, added,
                           activation, y, result) == 0;
}

std::string ConvCall::name() const {
  static const char *const names[kDnnAlgorithmCount] = {
      "implicit gemm", "implicit precomputed gemm",
      "gemm",          "direct",
      "fft",           "tiled fft",
      "winograd",      "winograd, not fused"};
  return format("cuDNN %s %s", versionText(dnn.version).c_str(),
                names[used().algorithm]);
}
