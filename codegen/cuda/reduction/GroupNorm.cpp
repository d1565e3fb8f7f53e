//===- GroupNorm.cpp - Group norms with channels last ---------------------===//
//
// The skeleton group_norm (group_norm.cuh): a norm with the elementwise
// operators before and after it.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/target/Skeleton.h"
#include "dialects/nn/operators/Statistics.h"
#include "dialects/nn/rewrites/Layout.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Elements of a thread's vector: kNormVector of group_norm.cuh.
static constexpr int64_t kNormVector = 8;
/// Maximum vectors that a thread keeps in registers, and maximum groups of a
/// cluster: each is a sum of its own.
static constexpr int64_t kMostKept = 16, kMostRun = 8;
/// Threads of a block, and those of a block whose threads would keep more than
/// `kFewKept` vectors.
static constexpr int64_t kFewNormThreads = 256, kManyNormThreads = 512,
                         kFewKept = 12;
/// Channels that are read together from which on lines are used well, and
/// pixels from which on a block is worth its latency.
static constexpr int64_t kWideRun = 32, kLeastPixels = 16;
/// Maximum blocks of a cluster.
static constexpr int64_t kMostNormCluster = 8;

namespace {
/// The sizes of a norm.
struct NormSizes {
  int64_t samples, pixels, channels, groups;

  int64_t each() const { return channels / groups; }
};
} // namespace

static NormSizes normSizesOf(RankedTensorType x, int64_t groups) {
  int64_t samples = x.getDimSize(0), channels = x.getShape().back();
  return {samples, x.getNumElements() / samples / channels, channels, groups};
}

/// Returns the vectors that each thread keeps.
static int64_t vectorsKept(const NormSizes &norm, int64_t run, int64_t cluster,
                           int64_t threads) {
  int64_t rows = threads / (run * norm.each() / kNormVector);
  return rows ? ceilDiv(ceilDiv(norm.pixels, cluster), rows) : INT64_MAX;
}

/// Returns why a schedule does not fit a norm, if so.
static nn::Legality checkNorm(const NormSizes &norm, int64_t run,
                              int64_t cluster, int64_t threads) {
  if (norm.groups % run || run * norm.each() % kNormVector)
    return nn::Mismatch("its runs of groups are not whole vectors");
  if ((cluster - 1) * ceilDiv(norm.pixels, cluster) >= norm.pixels)
    return nn::Mismatch("a block has no pixels");
  if (vectorsKept(norm, run, cluster, threads) > kMostKept)
    return nn::Mismatch("a thread has more vectors than registers");
  return std::nullopt;
}

/// Chooses a schedule: runs of groups that fill sectors, as many blocks as keep
/// the SMs busy.
static std::optional<GroupNormAttr>
chooseNorm(const NormSizes &norm, MLIRContext *context, const GpuArch &arch) {
  int64_t run = 1;
  auto isSmall = [&] {
    return run * norm.each() % kNormVector || run * norm.each() < kWideRun;
  };
  while (isSmall() && run < kMostRun && norm.groups % (2 * run) == 0)
    run *= 2;
  if (run * norm.each() % kNormVector)
    return std::nullopt;
  int64_t clusters = norm.samples * (norm.groups / run);
  auto fits = [&](int64_t cluster) {
    return !checkNorm(norm, run, cluster, kManyNormThreads);
  };
  int64_t cluster = 1;
  while (cluster < kMostNormCluster &&
         (!fits(cluster) || (clusters * cluster < arch.sms &&
                             norm.pixels >= 2 * cluster * kLeastPixels)))
    cluster *= 2;
  if (!fits(cluster))
    return std::nullopt;
  bool areFew = vectorsKept(norm, run, cluster, kFewNormThreads) <= kFewKept;
  return GroupNormAttr::get(context, run, cluster,
                            areFew ? kFewNormThreads : kManyNormThreads);
}

/// Returns whether the kernel computes norms of this type.
static bool takesNorm(RankedTensorType x, int64_t groups,
                      const Machine &machine) {
  return machine.arch.mma == Mma::wgmma && x.hasStaticShape() &&
         x.getRank() >= 2 && isHalf(x.getElementType()) &&
         x.getNumElements() > 0 && x.getNumElements() <= INT32_MAX &&
         groups > 0 && x.getShape().back() % groups == 0 &&
         chooseNorm(normSizesOf(x, groups), x.getContext(), machine.arch);
}

/// Returns the fusion's norm if its numbers of channels are kernel inputs, and
/// every result has its shape.
static nn::Match<nn::GroupNormOp> findNorm(nn::FusionOp fusion) {
  auto norms = fusion.getBody().front().getOps<nn::GroupNormOp>();
  if (!llvm::hasSingleElement(norms))
    return nn::Mismatch("it has not one group norm");
  nn::GroupNormOp norm = *norms.begin();
  if (!isa<BlockArgument>(norm.getScale()) ||
      !isa<BlockArgument>(norm.getBias()))
    return nn::Mismatch("numbers of channels are computed in the fusion");
  for (Value result : fusion.getResults())
    if (nn::shapeOf(result) != nn::shapeOf(norm.getY()))
      return nn::Mismatch("a result has another shape than the norm");
  return norm;
}

/// The parameters of the body's functions that say where a vector is.
static constexpr StringLiteral kPlace =
    "unsigned sample, unsigned pixel, unsigned channel";

namespace {
/// The elements of a norm's tensors by sample, pixel and channel, so that what
/// does not depend on the pixel is loaded once.
struct NormGraph {
  NormGraph(const NormSizes &norm, MLIRContext *context)
      : graph(context), sample(graph.space.addDim(norm.samples)),
        pixel(graph.space.addDim(norm.pixels)),
        channel(graph.space.addDim(norm.channels)),
        flat((sample * norm.pixels + pixel) * norm.channels + channel) {
    graph.setLane(channel, kNormVector);
    graph.dividends = kLane;
  }
  /// Returns a printer of a function of kPlace.
  Printer printer(const LinalgFusion &lowered) {
    Printer printer(graph);
    printer.setArguments(lowered.inputElements());
    printer.nameDim(sample, "sample");
    printer.nameDim(pixel, "pixel");
    printer.nameDim(channel, "channel");
    return printer;
  }

  Graph graph;
  AffineExpr sample, pixel, channel, flat;
};
} // namespace

/// Prints the function that loads a vector, and computes what is before the
/// norm.
static nn::Match<std::string> printNormLoad(nn::GroupNormOp norm,
                                            const NormSizes &sizes,
                                            const LinalgFusion &lowered) {
  NormGraph elements(sizes, lowered.context());
  Node *root = elements.graph.elementAt(lowered[norm.getX()], elements.flat);
  if (!elements.graph.failure().empty())
    return nn::Mismatch(elements.graph.failure());
  std::string head =
      ("  __device__ void load(frit::Pack<T, 8> &to, " + kPlace + ") const {\n")
          .str();
  Printer printer = elements.printer(lowered);
  if (root->kind == Node::Kind::load)
    return head + "    to = *reinterpret_cast<const frit::Pack<T, 8> *>(x" +
           std::to_string(root->argument) + " + (" + printer.place(root) +
           "));\n  }\n";
  printer.expect({root});
  printer.openLanes();
  std::string value = printer.value(root);
  printer.before("float out0[8];");
  printer.line("out0[v] = " + value + ";");
  printer.closeLanes();
  return head + printer.str(4) + "    frit::roundToPack(to, out0, 0);\n  }\n";
}

/// Prints the function that stores what follows a vector of the norm.
static nn::Match<std::string> printNormStore(nn::GroupNormOp norm,
                                             const NormSizes &sizes,
                                             const LinalgFusion &lowered) {
  NormGraph elements(sizes, lowered.context());
  Graph &graph = elements.graph;
  Node *given =
      graph.given(Float32Type::get(lowered.context()), "norm[v]", kLane);
  graph.give(lowered[norm.getY()],
             [given](ArrayRef<AffineExpr>) { return given; });
  SmallVector<Node *> roots;
  SmallVector<std::pair<unsigned, Node *>> outputs;
  for (auto [number, output] : llvm::enumerate(lowered.outputs())) {
    roots.push_back(graph.elementAt(output, elements.flat));
    outputs.push_back({number, roots.back()});
  }
  if (!graph.failure().empty())
    return nn::Mismatch(graph.failure());
  Printer printer = elements.printer(lowered);
  printer.expect(roots);
  return ("  __device__ void store(const float (&norm)[8], " + kPlace +
          ") const {\n    const unsigned i = (sample * pixels + pixel) * "
          "channels + channel;\n" +
          storeOutputs(printer, graph, lowered, outputs, "i") + "  }\n")
      .str();
}

/// Prints the function that loads a vector of the channels' numbers.
static std::string printFactors(nn::GroupNormOp norm) {
  auto load = [](StringRef to, Value from) {
    return ("    frit::loadVector(" + to + ", x" +
            Twine(cast<BlockArgument>(from).getArgNumber()) + " + channel);\n")
        .str();
  };
  return "  __device__ void factors(float (&scale)[8], float (&bias)[8], "
         "unsigned channel) const {\n" +
         load("scale", norm.getScale()) + load("bias", norm.getBias()) +
         "  }\n";
}

LogicalResult
GroupNormAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t run, int64_t cluster, int64_t threads) {
  if (failed(requireRanges(emitError, {{"run", run, 1, kMostRun}})) ||
      failed(require(emitError, isPowerOf2UpTo(cluster, kMostNormCluster),
                     "cluster", "1, 2, 4 or 8")))
    return failure();
  return requireBlock(emitError, threads);
}

namespace {
/// A norm, and the functions of its body.
struct NormKernel {
  nn::GroupNormOp norm;
  std::string load, store;
};

class GroupNorm : public SkeletonOf<GroupNormAttr, NormKernel> {
  double compileMilliseconds() const override { return 60; }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::groupNorm)
      return std::nullopt;
    auto norm = findNorm(problem.fusion());
    if (!norm)
      return norm.mismatch();
    auto x = nn::tensorType(norm->getX());
    auto chosen = chooseNorm(normSizesOf(x, norm->getGroups()),
                             problem.context(), machine.arch);
    if (!chosen)
      return nn::Mismatch("its groups are too large for registers");
    offers.add(*chosen);
    return std::nullopt;
  }
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(
        nn::GroupNormRewrite{[&machine](RankedTensorType x, int64_t groups) {
          return takesNorm(x, groups, machine);
        }});
  }
  /// Where a model trains, gradients need the norm's statistics.
  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    auto norm = dyn_cast<nn::GroupNormOp>(*composite);
    return norm &&
           takesNorm(nn::tensorType(norm.getX()), norm.getGroups(), machine) &&
           llvm::none_of(norm.getX().getUsers(),
                         llvm::IsaPred<nn::GroupMeanOp, nn::GroupVarianceOp>);
  }
  std::optional<nn::StepCost> costOf(Problem &problem, GroupNormAttr schedule,
                                     const Machine &machine) const override {
    return costOfMemory(problem.fusion(), kNormVector, machine.arch);
  }
  nn::Match<NormKernel> fit(Problem &problem, GroupNormAttr schedule,
                            const Machine &machine) const override {
    auto norm = findNorm(problem.fusion());
    if (!norm)
      return norm.mismatch();
    auto x = nn::tensorType(norm->getX());
    if (!takesNorm(x, norm->getGroups(), machine))
      return nn::Mismatch("the target does not compute its norm whole");
    if (nn::Legality why =
            checkNorm(normSizesOf(x, norm->getGroups()), schedule.getRun(),
                      schedule.getCluster(), schedule.getThreads()))
      return *why;
    NormSizes sizes = normSizesOf(x, norm->getGroups());
    auto load = printNormLoad(*norm, sizes, problem.lowered());
    if (!load)
      return load.mismatch();
    auto store = printNormStore(*norm, sizes, problem.lowered());
    if (!store)
      return store.mismatch();
    return NormKernel{*norm, *load, *store};
  }
  KernelText print(NormKernel &fitted, Problem &problem, GroupNormAttr schedule,
                   StringRef name) const override;
};
} // namespace

KernelText GroupNorm::print(NormKernel &fitted, Problem &problem,
                            GroupNormAttr schedule, StringRef name) const {
  nn::GroupNormOp op = fitted.norm;
  const LinalgFusion &lowered = problem.lowered();
  auto x = nn::tensorType(op.getX());
  NormSizes norm = normSizesOf(x, op.getGroups());
  int64_t run = schedule.getRun(), cluster = schedule.getCluster(),
          threads = schedule.getThreads();
  KernelText kernel;
  kernel.header = "group_norm";
  kernel.source =
      ("struct " + name + "_body {\n").str() + parameterList(lowered, true) +
      ("  using T = " + storageName(x.getElementType()) + ";\n").str() +
      constantsText("int", {{"samples", norm.samples},
                            {"pixels", norm.pixels},
                            {"channels", norm.channels},
                            {"groups", norm.groups}}) +
      "  static constexpr float epsilon = " +
      literal(op.getEpsilonAttr(), op.getEpsilonAttr().getType()) + ";\n\n" +
      fitted.load + printFactors(op) + fitted.store + "};\n";
  std::string call =
      startText(lowered) + ("frit::groupNorm<" + Twine(run) + ", " +
                            Twine(cluster) + ", " + Twine(threads) + ">(" +
                            name + "_body{" + argumentList(lowered) + "});\n")
                               .str();
  kernel.source += kernelFunction(
      name, lowered,
      {.threads = threads, .wait = PdlWait::inSkeleton, .cluster = cluster},
      call);
  kernel.grid[0] = norm.samples * (norm.groups / run) * cluster;
  kernel.block[0] = threads;
  // GroupNormPlan::kShared of group_norm.cuh.
  kernel.sharedBytes = (threads / 32 + 5) * run * int64_t(sizeof(float));
  return kernel;
}

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<GroupNormAttr>() {
  return std::make_unique<GroupNorm>();
}
