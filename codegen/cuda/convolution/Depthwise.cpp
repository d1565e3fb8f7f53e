//===- Depthwise.cpp - Depthwise convolutions -----------------------------===//

#include "codegen/cuda/contraction/Contraction.h"
#include "dialects/nn/rewrites/Layout.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Threads per block, and threads per SM that suffice to hide latency.
static constexpr int64_t kDepthwiseThreads = 128, kDepthwiseBusy = 384;
/// Maximum filter elements per thread, with many threads and with few; outputs
/// per strip; and unrolled products per strip.
static constexpr int64_t kKeptByMany = 100, kKeptByFew = 36, kStripOutputs = 8,
                         kProducts = 1024;
/// Maximum filter elements, which stay in registers, and rows that a strip
/// reaches, which are unrolled. Maximum strides, pads and dilations, so that
/// products with any size fit an int.
static constexpr int64_t kMostTaps = 81, kMostRows = 128,
                         kMostDistance = 1 << 15;

/// Returns whether the kernel supports this window of an image.
static bool takesWindow(ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
                        ArrayRef<int64_t> pads, ArrayRef<int64_t> dilations) {
  for (ArrayRef<int64_t> list : {strides, pads, dilations})
    if (llvm::any_of(list, [](int64_t step) { return step > kMostDistance; }))
      return false;
  return window.size() == 2 && window[0] * window[1] <= kMostTaps &&
         (window[0] - 1) * dilations[0] < kMostRows;
}

/// Returns whether a convolution is faster as an nn.depthwise_conv.
static bool prefersDepthwise(nn::ConvOp conv) {
  ArrayRef<int64_t> w = nn::shapeOf(conv.getW());
  auto isSmall = [](Value v) {
    auto type = nn::tensorType(v);
    return type.hasStaticShape() && type.getNumElements() <= INT32_MAX;
  };
  return conv.getChannelsLast() && w.size() == 4 && isDepthwise(conv) &&
         isSmall(conv.getX()) && isSmall(conv.getY()) &&
         usesTensorCores(conv) &&
         takesWindow(w.drop_front().drop_back(), conv.getStrides(),
                     conv.getPads(), conv.getDilations());
}

/// Returns the fusion's depthwise convolution if its operands are kernel inputs
/// and every result has its element count.
static nn::Match<nn::DepthwiseConvOp> findConv(nn::FusionOp fusion) {
  nn::DepthwiseConvOp conv;
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (auto found = dyn_cast<nn::DepthwiseConvOp>(op)) {
      if (conv)
        return nn::Mismatch("it has two convolutions");
      conv = found;
    }
  if (!conv)
    return nn::Mismatch("it has no depthwise convolution");
  if (!isa<BlockArgument>(conv.getX()) || !isa<BlockArgument>(conv.getW()))
    return nn::Mismatch(
        "an operand of the convolution is computed in the fusion");
  if (!takesWindow(nn::shapeOf(conv.getW()).drop_back(), conv.getStrides(),
                   conv.getPads(), conv.getDilations()))
    return nn::Mismatch(
        "the convolution is not of an image, or by a large window");
  for (Value result : fusion.getResults())
    if (nn::tensorType(result).getNumElements() !=
        nn::tensorType(conv.getY()).getNumElements())
      return nn::Mismatch(
          "a result has not one element for each of the convolution's");
  if (nn::tensorType(conv.getY()).getElementType().isF64())
    return nn::Mismatch("the convolution is of 64-bit floats");
  for (Value tensor : {conv.getX(), conv.getY()})
    if (nn::tensorType(tensor).getNumElements() > INT32_MAX ||
        nn::tensorType(tensor).getNumElements() == 0)
      return nn::Mismatch("the convolution has no elements, or too many");
  return conv;
}

/// Returns the vector width: neighbouring channels per thread, which keeps
/// their filters.
static int64_t vectorOf(int64_t taps, int64_t channels, int64_t bytes,
                        int64_t outputs, const GpuArch &arch) {
  auto isTooWide = [&](int64_t vector) {
    int64_t most = outputs / vector >= arch.threadsOf(kDepthwiseBusy)
                       ? kKeptByMany
                       : kKeptByFew;
    return channels % vector != 0 || (vector > 2 && taps * vector > most);
  };
  int64_t vector = std::min<int64_t>(16 / bytes, 4);
  while (vector > 1 && isTooWide(vector))
    vector /= 2;
  return vector;
}

/// Returns the outputs per strip: as many as leave enough threads, with strips
/// of about equal length.
static int64_t stripOf(nn::DepthwiseConvOp conv, int64_t vector,
                       const GpuArch &arch) {
  ArrayRef<int64_t> w = nn::shapeOf(conv.getW()), y = nn::shapeOf(conv.getY());
  int64_t rows = y[1], rowThreads = y[0] * y[2] * y[3] / vector;
  int64_t length = std::clamp<int64_t>(kProducts / (w[0] * w[1] * vector), 1,
                                       std::min(rows, kStripOutputs));
  int64_t reach = (w[0] - 1) * conv.getDilations()[0];
  int64_t stride = std::min(conv.getStrides()[0], kMostRows);
  while (length > 1 && (length - 1) * stride + reach >= kMostRows)
    --length;
  while (length > 1 &&
         ceilDiv(rows, length) * rowThreads < arch.threadsOf(kDepthwiseBusy))
    --length;
  return ceilDiv(rows, ceilDiv(rows, length));
}

static std::string printShape(nn::DepthwiseConvOp conv) {
  ArrayRef<int64_t> x = nn::shapeOf(conv.getX()), w = nn::shapeOf(conv.getW()),
                    y = nn::shapeOf(conv.getY());
  ArrayRef<int64_t> strides = conv.getStrides(),
                    dilations = conv.getDilations(), pads = conv.getPads();
  auto line = [](ArrayRef<std::pair<StringRef, int64_t>> constants) {
    return constantsText("int", constants);
  };
  return line({{"n", x[0]}, {"h", x[1]}, {"w", x[2]}, {"c", x[3]}}) +
         line({{"r", w[0]}, {"s", w[1]}, {"p", y[1]}, {"q", y[2]}}) +
         line({{"strideH", strides[0]},
               {"strideW", strides[1]},
               {"dilationH", dilations[0]},
               {"dilationW", dilations[1]}}) +
         line({{"padTop", pads[0]}, {"padLeft", pads[1]}});
}

/// Prints the epilogue for `vector` of the convolution's sums from element `i`
/// on.
static nn::Match<std::string> printStore(nn::DepthwiseConvOp conv,
                                         const LinalgFusion &lowered,
                                         int64_t vector) {
  Graph graph(lowered.context());
  AffineExpr i =
      graph.space.addDim(nn::tensorType(conv.getY()).getNumElements());
  graph.setLane(i, vector);
  graph.dividends = kLane;
  Node *sum =
      graph.given(Float32Type::get(lowered.context()),
                  vector > 1 ? "sum[v]" : "sum[0]", vector > 1 ? kLane : 0);
  graph.give(lowered[conv.getY()], [sum](ArrayRef<AffineExpr>) { return sum; });
  SmallVector<Node *> roots;
  SmallVector<std::pair<unsigned, Node *>> outputs;
  for (auto [number, output] : llvm::enumerate(lowered.outputs())) {
    roots.push_back(graph.elementAt(output, i));
    outputs.push_back({number, roots.back()});
  }
  if (!graph.failure().empty())
    return nn::Mismatch(graph.failure());
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(i, "i");
  printer.expect(roots);
  return "  __device__ void store(const float (&sum)[" +
         std::to_string(vector) + "], unsigned i) const {\n" +
         storeOutputs(printer, graph, lowered, outputs, "i") + "  }\n";
}

LogicalResult
DepthwiseAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t vector, int64_t strip, int64_t threads) {
  if (failed(require(emitError, isPowerOf2UpTo(vector, 4), "vector",
                     "1, 2 or 4")) ||
      failed(requireRanges(emitError, {{"strip", strip, 1, kMostRows}})))
    return failure();
  return requireBlock(emitError, threads);
}

namespace {
/// A convolution, and the function that stores its sums.
struct DepthwiseKernel {
  nn::DepthwiseConvOp conv;
  std::string store;
};

class Depthwise : public SkeletonOf<DepthwiseAttr, DepthwiseKernel> {
  double compileMilliseconds() const override { return 50; }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::depthwise)
      return std::nullopt;
    auto conv = findConv(problem.fusion());
    if (!conv)
      return conv.mismatch();
    ArrayRef<int64_t> w = nn::shapeOf(conv->getW()),
                      y = nn::shapeOf(conv->getY());
    int64_t vector =
        vectorOf(w[0] * w[1], y[3],
                 storageBytes(nn::tensorType(conv->getX()).getElementType()),
                 nn::tensorType(conv->getY()).getNumElements(), machine.arch);
    offers.add(DepthwiseAttr::get(problem.context(), vector,
                                  stripOf(*conv, vector, machine.arch),
                                  kDepthwiseThreads));
    return std::nullopt;
  }
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(
        nn::ConvRewrite{nn::ConvRewrite::Form::depthwise, prefersDepthwise});
  }
  bool takesChain(const Chain &chain, const Machine &machine) const override {
    return isa<nn::DepthwiseConvOp>(chain.contraction()) &&
           isa<nn::ElementwiseOp>(chain.operators.back());
  }
  std::optional<nn::StepCost> costOf(Problem &problem, DepthwiseAttr schedule,
                                     const Machine &machine) const override {
    return costOfMemory(problem.fusion(), schedule.getVector(), machine.arch);
  }
  nn::Match<DepthwiseKernel> fit(Problem &problem, DepthwiseAttr schedule,
                                 const Machine &machine) const override {
    auto conv = findConv(problem.fusion());
    if (!conv)
      return conv.mismatch();
    if (nn::shapeOf(conv->getY())[3] % schedule.getVector())
      return nn::Mismatch("its channels are no multiple of a vector");
    auto store = printStore(*conv, problem.lowered(), schedule.getVector());
    if (!store)
      return store.mismatch();
    return DepthwiseKernel{*conv, *store};
  }
  KernelText print(DepthwiseKernel &fitted, Problem &problem,
                   DepthwiseAttr schedule, StringRef name) const override;
};
} // namespace

KernelText Depthwise::print(DepthwiseKernel &fitted, Problem &problem,
                            DepthwiseAttr schedule, StringRef name) const {
  nn::DepthwiseConvOp conv = fitted.conv;
  const LinalgFusion &lowered = problem.lowered();
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  int64_t strip = schedule.getStrip();
  ArrayRef<int64_t> y = nn::shapeOf(conv.getY());
  unsigned x = cast<BlockArgument>(conv.getX()).getArgNumber();
  unsigned w = cast<BlockArgument>(conv.getW()).getArgNumber();
  bool constant = llvm::is_contained(lowered.constantInputs(), int64_t(w));
  KernelText kernel;
  kernel.header = "depthwise";
  kernel.source = ("struct " + name + "_body {\n").str() +
                  parameterList(lowered, true) + printShape(conv) + "\n" +
                  fitted.store + "};\n";
  std::string call =
      startText(lowered) +
      ("frit::depthwise<" + Twine(vector) + ", " + Twine(strip) + ", " +
       (constant ? "true" : "false") + ">(" + name + "_body{" +
       argumentList(lowered) + "}, x" + Twine(x) + ", x" + Twine(w) + ");\n")
          .str();
  kernel.source += kernelFunction(
      name, lowered, {.threads = threads, .wait = PdlWait::inSkeleton}, call);
  kernel.grid[0] =
      ceilDiv(y[0] * ceilDiv(y[1], strip) * y[2] * y[3] / vector, threads);
  kernel.block[0] = threads;
  return kernel;
}

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<DepthwiseAttr>() {
  return std::make_unique<Depthwise>();
}
