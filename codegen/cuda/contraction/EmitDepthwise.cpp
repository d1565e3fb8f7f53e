//===- EmitDepthwise.cpp - Convolutions of each channel by itself ---------===//

#include "codegen/cuda/target/Emit.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Threads of a block, and of how many a large GPU has enough to hide what they
/// wait for.
static constexpr int64_t kThreads = 128, kBusy = 132 * 384;
/// Filters' elements that a thread keeps, where there are many threads and
/// where not, outputs of its strip, and products that are written out for it.
static constexpr int64_t kKept = 100, kKeptByFew = 36, kLongest = 8,
                         kProducts = 1024;
/// Elements of a filter, and rows that a strip reaches: registers hold the
/// ones, and the others are written out. Steps and pads that an int holds,
/// times any size.
static constexpr int64_t kMostTaps = 81, kMostRows = 128, kMostSteps = 1 << 15;

bool frit::cuda::takesDepthwise(ArrayRef<int64_t> window,
                                ArrayRef<int64_t> strides,
                                ArrayRef<int64_t> pads,
                                ArrayRef<int64_t> dilations) {
  for (ArrayRef<int64_t> list : {strides, pads, dilations})
    if (llvm::any_of(list, [](int64_t step) { return step > kMostSteps; }))
      return false;
  return window.size() == 2 && window[0] * window[1] <= kMostTaps &&
         (window[0] - 1) * dilations[0] < kMostRows;
}

/// The convolution of a fusion, which reads memory and whose result is all that
/// follows it has the shape of, or null.
static nn::DepthwiseConvOp findConv(nn::FusionOp fusion, std::string &reason) {
  nn::DepthwiseConvOp conv;
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (auto found = dyn_cast<nn::DepthwiseConvOp>(op)) {
      if (conv)
        reason = "it has two convolutions";
      conv = found;
    }
  if (!isa<BlockArgument>(conv.getX()) || !isa<BlockArgument>(conv.getW()))
    reason = "an operand of the convolution is computed in the fusion";
  if (!takesDepthwise(nn::shapeOf(conv.getW()).drop_back(), conv.getStrides(),
                      conv.getPads(), conv.getDilations()))
    reason = "the convolution is not of an image, or by a large window";
  for (Value result : fusion.getResults())
    if (nn::tensorType(result).getNumElements() !=
        nn::tensorType(conv.getY()).getNumElements())
      reason = "a result has not one element for each of the convolution's";
  if (nn::tensorType(conv.getY()).getElementType().isF64())
    reason = "the convolution is of 64-bit floats";
  for (Value tensor : {conv.getX(), conv.getY()})
    if (nn::tensorType(tensor).getNumElements() > INT32_MAX ||
        nn::tensorType(tensor).getNumElements() == 0)
      reason = "the convolution has no elements, or too many";
  return reason.empty() ? conv : nullptr;
}

/// Of how many neighbouring channels a thread keeps the filters.
static int64_t vectorOf(int64_t taps, int64_t channels, int64_t bytes,
                        int64_t outputs) {
  auto isTooWide = [&](int64_t vector) {
    int64_t most = outputs / vector >= kBusy ? kKept : kKeptByFew;
    return channels % vector != 0 || (vector > 2 && taps * vector > most);
  };
  int64_t vector = std::min<int64_t>(16 / bytes, 4);
  while (vector > 1 && isTooWide(vector))
    vector /= 2;
  return vector;
}

/// Outputs of a strip: as many as leave enough threads, evenly.
static int64_t stripOf(nn::DepthwiseConvOp conv, int64_t vector) {
  ArrayRef<int64_t> w = nn::shapeOf(conv.getW()), y = nn::shapeOf(conv.getY());
  int64_t rows = y[1], rowThreads = y[0] * y[2] * y[3] / vector;
  int64_t length = std::clamp<int64_t>(kProducts / (w[0] * w[1] * vector), 1,
                                       std::min(rows, kLongest));
  int64_t reach = (w[0] - 1) * conv.getDilations()[0];
  int64_t stride = std::min(conv.getStrides()[0], kMostRows);
  while (length > 1 && (length - 1) * stride + reach >= kMostRows)
    --length;
  while (length > 1 && ceilDiv(rows, length) * rowThreads < kBusy)
    --length;
  return ceilDiv(rows, ceilDiv(rows, length));
}

nn::ScheduleAttr frit::cuda::scheduleDepthwise(nn::FusionOp fusion,
                                               std::string &reason) {
  nn::DepthwiseConvOp conv = findConv(fusion, reason);
  if (!conv)
    return nullptr;
  ArrayRef<int64_t> w = nn::shapeOf(conv.getW()), y = nn::shapeOf(conv.getY());
  int64_t vector =
      vectorOf(w[0] * w[1], y[3],
               storageBytes(nn::tensorType(conv.getX()).getElementType()),
               nn::tensorType(conv.getY()).getNumElements());
  int64_t strip = stripOf(conv, vector);
  return nn::ScheduleAttr::get(fusion.getContext(), nn::Skeleton::depthwise,
                               vector, kThreads, strip, /*library=*/false);
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

/// What follows the convolution, of `vector` of its sums from element `i` on.
static FailureOr<std::string> printStore(nn::DepthwiseConvOp conv,
                                         const LinalgFusion &lowered,
                                         int64_t vector, std::string &failure) {
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
  failure = graph.failure();
  if (!failure.empty())
    return llvm::failure();
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(i, "i");
  printer.expect(roots);
  return "  __device__ void store(const float (&sum)[" +
         std::to_string(vector) + "], unsigned i) const {\n" +
         storeOutputs(printer, graph, lowered, outputs, "i") + "  }\n";
}

FailureOr<KernelText> frit::cuda::emitDepthwise(nn::FusionOp fusion,
                                                const LinalgFusion &lowered,
                                                StringRef name,
                                                nn::ScheduleAttr schedule,
                                                std::string &failure) {
  nn::DepthwiseConvOp conv = findConv(fusion, failure);
  if (!conv)
    return llvm::failure();
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  int64_t strip = schedule.getPerThread();
  auto store = printStore(conv, lowered, vector, failure);
  if (failed(store))
    return llvm::failure();
  unsigned x = cast<BlockArgument>(conv.getX()).getArgNumber();
  unsigned w = cast<BlockArgument>(conv.getW()).getArgNumber();
  bool constant = llvm::is_contained(lowered.constantInputs(), int64_t(w));
  KernelText kernel;
  kernel.header = "depthwise";
  kernel.source = ("struct " + name + "_body {\n").str() +
                  parameterList(lowered, true) + printShape(conv) + "\n" +
                  *store + "};\n";
  std::string call =
      startText(lowered) +
      ("frit::depthwise<" + Twine(vector) + ", " + Twine(strip) + ", " +
       (constant ? "true" : "false") + ">(" + name + "_body{" +
       argumentList(lowered) + "}, x" + Twine(x) + ", x" + Twine(w) + ");\n")
          .str();
  kernel.source +=
      kernelFunction(name, lowered, threads, call, 0, Waits::inSkeleton);
  ArrayRef<int64_t> y = nn::shapeOf(conv.getY());
  kernel.grid[0] =
      ceilDiv(y[0] * ceilDiv(y[1], strip) * y[2] * y[3] / vector, threads);
  kernel.block[0] = threads;
  return kernel;
}
