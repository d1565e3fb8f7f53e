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

namespace {
/// A depthwise convolution of floats, or the sums of one of bytes: each channel
/// then has its filter's taps together.
struct Windows {
  Value x, w, y;
  Value zeroX = {}, zeroW = {}; ///< of bytes
  int64_t r, s;
  ArrayRef<int64_t> strides, pads, dilations;

  bool hasBytes() const { return bool(zeroX); }
};
} // namespace

/// Describes a depthwise convolution, or says why it is none.
static nn::Match<Windows> describe(Operation *op) {
  if (auto conv = dyn_cast<nn::DepthwiseConvOp>(op)) {
    ArrayRef<int64_t> w = nn::shapeOf(conv.getW());
    if (w.size() != 3)
      return nn::Mismatch("the convolution is not of an image");
    return Windows{.x = conv.getX(),
                   .w = conv.getW(),
                   .y = conv.getY(),
                   .r = w[0],
                   .s = w[1],
                   .strides = conv.getStrides(),
                   .pads = conv.getPads(),
                   .dilations = conv.getDilations()};
  }
  auto conv = dyn_cast<nn::QuantizedConvOp>(op);
  if (!conv || nn::hasEnd(conv) || !conv.getXZero() || !conv.getWZero())
    return nn::Mismatch("it is no depthwise convolution");
  ArrayRef<int64_t> w = nn::shapeOf(conv.getW());
  if (w.size() != 4 || w[0] != int64_t(conv.getGroup()) || w[3] != 1)
    return nn::Mismatch("its groups have several channels or filters");
  return Windows{.x = conv.getX(),
                 .w = conv.getW(),
                 .y = conv.getY(),
                 .zeroX = conv.getXZero(),
                 .zeroW = conv.getWZero(),
                 .r = w[1],
                 .s = w[2],
                 .strides = conv.getStrides(),
                 .pads = conv.getPads(),
                 .dilations = conv.getDilations()};
}

/// Returns why the kernel does not compute a convolution, if so.
static nn::Legality checkWindows(const Windows &conv) {
  if (!takesWindow({conv.r, conv.s}, conv.strides, conv.pads, conv.dilations))
    return nn::Mismatch("its window is large");
  if (nn::tensorType(conv.y).getElementType().isF64())
    return nn::Mismatch("the convolution is of 64-bit floats");
  for (Value tensor : {conv.x, conv.y})
    if (nn::tensorType(tensor).getNumElements() > INT32_MAX ||
        nn::tensorType(tensor).getNumElements() == 0)
      return nn::Mismatch("the convolution has no elements, or too many");
  return std::nullopt;
}

/// Returns the fusion's depthwise convolution if its operands are kernel inputs
/// and every result has its element count.
static nn::Match<Windows> findConv(nn::FusionOp fusion) {
  Operation *found = nullptr;
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (isa<nn::DepthwiseConvOp, nn::QuantizedConvOp>(op)) {
      if (found)
        return nn::Mismatch("it has two convolutions");
      found = &op;
    }
  if (!found)
    return nn::Mismatch("it has no depthwise convolution");
  if (llvm::any_of(found->getOperands(),
                   [](Value operand) { return !isa<BlockArgument>(operand); }))
    return nn::Mismatch(
        "an operand of the convolution is computed in the fusion");
  auto conv = describe(found);
  if (!conv)
    return conv;
  for (Value result : fusion.getResults())
    if (nn::tensorType(result).getNumElements() !=
        nn::tensorType(conv->y).getNumElements())
      return nn::Mismatch(
          "a result has not one element for each of the convolution's");
  if (nn::Legality why = checkWindows(*conv))
    return *why;
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
static int64_t stripOf(const Windows &conv, int64_t vector,
                       const GpuArch &arch) {
  ArrayRef<int64_t> y = nn::shapeOf(conv.y);
  int64_t rows = y[1], rowThreads = y[0] * y[2] * y[3] / vector;
  int64_t length = std::clamp<int64_t>(kProducts / (conv.r * conv.s * vector),
                                       1, std::min(rows, kStripOutputs));
  int64_t reach = (conv.r - 1) * conv.dilations[0];
  int64_t stride = std::min(conv.strides[0], kMostRows);
  while (length > 1 && (length - 1) * stride + reach >= kMostRows)
    --length;
  while (length > 1 &&
         ceilDiv(rows, length) * rowThreads < arch.threadsOf(kDepthwiseBusy))
    --length;
  return ceilDiv(rows, ceilDiv(rows, length));
}

static std::string printShape(const Windows &conv) {
  ArrayRef<int64_t> x = nn::shapeOf(conv.x), y = nn::shapeOf(conv.y);
  ArrayRef<int64_t> strides = conv.strides, pads = conv.pads;
  auto line = [](ArrayRef<std::pair<StringRef, int64_t>> constants) {
    return constantsText("int", constants);
  };
  return line({{"n", x[0]}, {"h", x[1]}, {"w", x[2]}, {"c", x[3]}}) +
         line({{"r", conv.r}, {"s", conv.s}, {"p", y[1]}, {"q", y[2]}}) +
         line({{"strideH", strides[0]},
               {"strideW", strides[1]},
               {"dilationH", conv.dilations[0]},
               {"dilationW", conv.dilations[1]}}) +
         line({{"padTop", pads[0]}, {"padLeft", pads[1]}});
}

/// Prints what the kernel asks of bytes: which are signed, and zero points.
static std::string printBytes(const Windows &conv) {
  if (!conv.hasBytes())
    return "";
  auto print = [](StringRef of, Value bytes, Value zero) {
    bool isSigned = !nn::tensorType(bytes).getElementType().isUnsignedInteger();
    return constantsText("bool", {{("signed" + of).str(), isSigned}}) +
           ("  __device__ float zero" + of + "() const { return " +
            (isSigned ? "int8_t(x" : "uint8_t(x") +
            Twine(cast<BlockArgument>(zero).getArgNumber()) + "[0]); }\n")
               .str();
  };
  return print("X", conv.x, conv.zeroX) + print("W", conv.w, conv.zeroW);
}

/// Prints the epilogue for `vector` of the convolution's sums from element `i`
/// on.
static nn::Match<std::string>
printStore(const Windows &conv, const LinalgFusion &lowered, int64_t vector) {
  Graph graph(lowered.context());
  AffineExpr i = graph.space.addDim(nn::tensorType(conv.y).getNumElements());
  graph.setLane(i, vector);
  graph.dividends = kLane;
  std::string element = vector > 1 ? "sum[v]" : "sum[0]";
  Node *sum = conv.hasBytes()
                  ? graph.given(IntegerType::get(lowered.context(), 32),
                                "int(" + element + ")", vector > 1 ? kLane : 0)
                  : graph.given(Float32Type::get(lowered.context()), element,
                                vector > 1 ? kLane : 0);
  graph.give(lowered[conv.y], [sum](ArrayRef<AffineExpr>) { return sum; });
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
  Windows conv;
  std::string store;
};

class Depthwise : public SkeletonOf<DepthwiseAttr, DepthwiseKernel> {
  double compileMilliseconds() const override { return 50; }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::depthwise &&
        problem.kind() != Problem::Kind::quantized)
      return std::nullopt;
    auto conv = findConv(problem.fusion());
    if (!conv)
      return conv.mismatch();
    int64_t vector =
        vectorOf(conv->r * conv->s, nn::shapeOf(conv->y)[3],
                 storageBytes(nn::tensorType(conv->x).getElementType()),
                 nn::tensorType(conv->y).getNumElements(), machine.arch);
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
  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    auto conv = describe(composite);
    return conv && !checkWindows(*conv);
  }
  bool takesChain(const Chain &chain, const Machine &machine) const override {
    return describe(chain.contraction()) &&
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
    if (nn::shapeOf(conv->y)[3] % schedule.getVector())
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
  const Windows &conv = fitted.conv;
  const LinalgFusion &lowered = problem.lowered();
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  int64_t strip = schedule.getStrip();
  ArrayRef<int64_t> y = nn::shapeOf(conv.y);
  unsigned x = cast<BlockArgument>(conv.x).getArgNumber();
  unsigned w = cast<BlockArgument>(conv.w).getArgNumber();
  bool constant = llvm::is_contained(lowered.constantInputs(), int64_t(w));
  KernelText kernel;
  kernel.header = "depthwise";
  kernel.source = ("struct " + name + "_body {\n").str() +
                  parameterList(lowered, true) + printShape(conv) +
                  printBytes(conv) + "\n" + fitted.store + "};\n";
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
