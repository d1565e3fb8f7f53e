//===- IntegerGemm.cpp - Products and convolutions of bytes ---------------===//
//
// The skeleton computes the sums of nn.quantized_conv, of bytes in i32 or of
// 8-bit floats in f32. Any elementwise
// operators after them are a part of the kernel: their text gets neighbouring
// sums of a row, and reads what depends on columns alone once for all rows of a
// thread.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/integer/IntegerProduct.h"
#include "dialects/nn/rewrites/QuantizedConvs.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Bytes of the shortest asynchronous copies; channels from which on as many
/// are worth their memory; elements that one block reduces as fast as many do.
static constexpr int64_t kCopiedChannels = 4, kFewestChannels = 3,
                         kLongRange = 1 << 14;

LogicalResult IntegerGemmAttr::verify(
    llvm::function_ref<InFlightDiagnostic()> emitError, int64_t tileM,
    int64_t tileN, int64_t warpM, int64_t warpN, int64_t depth, int64_t stages,
    int64_t split, int64_t cluster, int64_t occupancy, bool wgmma) {
  auto isWarp = [](int64_t size) {
    return size % 16 == 0 && isPowerOf2UpTo(size, 64);
  };
  if (failed(require(emitError, isPowerOf2UpTo(cluster, 8), "cluster",
                     "1, 2, 4 or 8")))
    return failure();
  if (wgmma) {
    if (failed(require(emitError, isPowerOf2UpTo(tileM, 256) && tileM >= 64,
                       "tile_m", "64, 128 or 256 with `wgmma`")) ||
        failed(require(emitError, isPowerOf2UpTo(tileN, 256) && tileN >= 32,
                       "tile_n", "32, 64, 128 or 256 with `wgmma`")) ||
        failed(require(emitError, warpM == 16, "warp_m", "16 with `wgmma`")) ||
        failed(require(emitError, warpN == tileN, "warp_n",
                       "`tile_n` with `wgmma`")) ||
        failed(require(emitError, depth == 128, "depth", "128 with `wgmma`")) ||
        failed(require(emitError, split == 1, "split", "1 with `wgmma`")))
      return failure();
    return requireRanges(emitError, {{"stages", stages, 3, kMostStages},
                                     {"occupancy", occupancy, 1, 8}});
  }
  if (failed(require(emitError, isPowerOf2UpTo(tileM, 256), "tile_m",
                     "a power of 2 up to 256")) ||
      failed(require(emitError, isPowerOf2UpTo(tileN, 256), "tile_n",
                     "a power of 2 up to 256")) ||
      failed(require(emitError, isWarp(warpM) && warpM <= tileM, "warp_m",
                     "16, 32 or 64, at most `tile_m`")) ||
      failed(require(emitError, isWarp(warpN) && warpN <= tileN, "warp_n",
                     "16, 32 or 64, at most `tile_n`")) ||
      failed(require(emitError, depth == 64 || depth == 128, "depth",
                     "64 or 128")) ||
      failed(requireRanges(emitError, {{"stages", stages, 2, kMostStages},
                                       {"occupancy", occupancy, 1, 8}})))
    return failure();
  if (failed(require(emitError, isPowerOf2UpTo(split, depth / 32), "split",
                     "a power of 2 up to `depth` / 32")))
    return failure();
  return requireBlock(emitError, tileM / warpM * (tileN / warpN) * split * 32);
}

/// Returns a thread's neighbouring columns (integer_tile.cuh).
static int64_t neighboursOf(IntegerGemmAttr schedule) {
  return schedule.getWarpN() % 32 == 0 ? 8 : 4;
}

namespace {
/// The text of what follows the sums.
class EndText {
public:
  EndText(const IntegerProduct &product, const LinalgFusion &lowered,
          int64_t vector)
      : lowered(lowered), graph(lowered.context()), vector(vector) {
    row = graph.space.addDim(product.pixels());
    col = graph.space.addDim(product.k);
    place = graph.space.add(graph.space.mul(row, product.k), col);
    graph.setLane(col, vector);
    Type type = IntegerType::get(lowered.context(), 32);
    if (product.hasFloats())
      type = Float32Type::get(lowered.context());
    hasFloats = product.hasFloats();
    sumType = hasFloats ? "float" : "int";
    Node *sum = graph.given(type, vector > 1 ? "sum[v]" : "sum[0]",
                            vector > 1 ? kLane : 0);
    nn::QuantizedConvOp op = product.op;
    graph.give(lowered[op.getY()], [sum](ArrayRef<AffineExpr>) { return sum; });
    count = product.k;
  }

  /// Returns the struct Columns and the functions of integer_gemm.cuh.
  nn::Match<std::string> print();

private:
  bool dependsOn(const Node *load, AffineExpr dim) const {
    return load->index.isFunctionOfDim(cast<AffineDimExpr>(dim).getPosition());
  }
  /// Returns the loads of which each column has one value, or each sum.
  SmallVector<Node *> loadsOf(ArrayRef<Node *> nodes, bool ofSums) const {
    return llvm::filter_to_vector(nodes, [&](const Node *node) {
      return node->kind == Node::Kind::load && dependsOn(node, col) &&
             dependsOn(node, row) == ofSums && !hasSymbol(node->index);
    });
  }
  /// Returns the loads of which each row has one value, of floats: scales of
  /// rows.
  SmallVector<Node *> loadsOfRows(ArrayRef<Node *> nodes) const {
    return llvm::filter_to_vector(nodes, [&](const Node *node) {
      return hasFloats && node->kind == Node::Kind::load &&
             dependsOn(node, row) && !dependsOn(node, col) &&
             !hasSymbol(node->index);
    });
  }
  static bool hasSymbol(AffineExpr index) {
    bool found = false;
    index.walk([&](AffineExpr part) { found |= isa<AffineSymbolExpr>(part); });
    return found;
  }
  std::string printLoads(ArrayRef<Node *> loads, ArrayRef<Node *> ofRows,
                         StringRef type, StringRef name, StringRef parameters);

  const LinalgFusion &lowered;
  Graph graph;
  int64_t vector, count;
  bool hasFloats;
  std::string sumType;
  AffineExpr row, col, place;
};
} // namespace

/// Prints a struct of loads and the function that loads it; field i has the
/// values of load i, and that of a row is one value.
std::string EndText::printLoads(ArrayRef<Node *> loads, ArrayRef<Node *> ofRows,
                                StringRef type, StringRef name,
                                StringRef parameters) {
  std::string fields, lanes = std::to_string(vector);
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(row, "row");
  printer.nameDim(col, "col");
  SmallVector<Node *> all(loads);
  llvm::append_range(all, ofRows);
  printer.expect(all);
  for (auto [i, load] : llvm::enumerate(ofRows)) {
    std::string field = "ofRow" + std::to_string(i);
    fields += ("    " + valueName(load->type) + " " + field + ";\n").str();
    printer.line(
        (name + "." + field + " = " + printer.value(load) + ";").str());
  }
  printer.openLanes();
  for (auto [i, load] : llvm::enumerate(loads)) {
    std::string field = "of" + std::to_string(i);
    fields +=
        ("    " + valueName(load->type) + " " + field + "[" + lanes + "];\n")
            .str();
    printer.line(name + "." + field + (vector > 1 ? "[v] = " : "[0] = ") +
                 printer.value(load) + ";");
  }
  printer.closeLanes();
  return ("  struct " + type + " {\n" + fields + "  };\n  __device__ " + type +
          " " + name + "(" + parameters + ") const {\n    " + type + " " +
          name + ";\n" + printer.str(4) + "    return " + name + ";\n  }\n")
      .str();
}

nn::Match<std::string> EndText::print() {
  SmallVector<Node *> roots;
  SmallVector<std::pair<unsigned, Node *>> outputs;
  for (auto [number, output] : llvm::enumerate(lowered.outputs())) {
    roots.push_back(graph.elementAt(output, place));
    outputs.push_back({number, roots.back()});
  }
  if (!graph.failure().empty())
    return nn::Mismatch(graph.failure());
  SmallVector<Node *> nodes = Graph::reachable(roots, graph);
  SmallVector<Node *> ofColumns = loadsOf(nodes, /*ofSums=*/false);
  SmallVector<Node *> ofSums = loadsOf(nodes, /*ofSums=*/true);
  SmallVector<Node *> ofRows = loadsOfRows(nodes);
  std::string loads =
      printLoads(ofColumns, {}, "Columns", "columns", "unsigned col") +
      printLoads(ofSums, ofRows, "Elements", "elements",
                 "unsigned row, unsigned col");
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(row, "row");
  printer.nameDim(col, "col");
  auto define = [&](ArrayRef<Node *> fields, StringRef name) {
    for (auto [i, load] : llvm::enumerate(fields))
      printer.define(load, (name + ".of" + std::to_string(i) +
                            (vector > 1 ? "[v]" : "[0]"))
                               .str());
  };
  define(ofColumns, "columns");
  define(ofSums, "elements");
  for (auto [i, load] : llvm::enumerate(ofRows))
    printer.define(load, "elements.ofRow" + std::to_string(i));
  printer.expect(roots);
  return loads + "  __device__ void store(const " + sumType + " (&sum)[" +
         std::to_string(vector) +
         "], const Columns &columns,\n"
         "                        const Elements &elements, unsigned row,\n"
         "                        unsigned col) const {\n"
         "    const unsigned at = row * " +
         std::to_string(count) + " + col;\n" +
         storeOutputs(printer, graph, lowered, outputs, "at") + "  }\n";
}

static std::string printProduct(const IntegerProduct &product,
                                IntegerGemmAttr schedule, bool early) {
  auto ints = [](ArrayRef<std::pair<StringRef, int64_t>> constants) {
    return constantsText("int", constants);
  };
  return ints({{"n", product.n},
               {"h", product.h},
               {"w", product.w},
               {"c", product.c}}) +
         ints({{"k", product.k},
               {"r", product.r},
               {"s", product.s},
               {"p", product.p},
               {"q", product.q}}) +
         ints({{"strideH", product.strideH},
               {"strideW", product.strideW},
               {"dilationH", product.dilationH},
               {"dilationW", product.dilationW}}) +
         ints({{"padTop", product.padTop}, {"padLeft", product.padLeft}}) +
         (product.hasFloats()
              ? "  static constexpr frit::Float8 floatX = frit::Float8::" +
                    product.floatX.str() +
                    ", floatW = frit::Float8::" + product.floatW.str() + ";\n" +
                    constantsText("bool", {{"early", early},
                                           {"wgmma", schedule.getWgmma()}})
              : constantsText("bool", {{"signedX", product.signedX},
                                       {"signedW", product.signedW},
                                       {"early", early},
                                       {"wgmma", schedule.getWgmma()}})) +
         ints({{"tileM", schedule.getTileM()},
               {"tileN", schedule.getTileN()},
               {"warpM", schedule.getWarpM()},
               {"warpN", schedule.getWarpN()}}) +
         ints({{"depth", schedule.getDepth()},
               {"stages", schedule.getStages()},
               {"split", schedule.getSplit()},
               {"cluster", schedule.getCluster()}});
}

/// Describes an operator or a fusion, or says why the target does not compute
/// it.
template <class Source>
static nn::Match<IntegerProduct> describeFor(Source source,
                                             const Machine &machine) {
  nn::Match<IntegerProduct> product = describeProduct(source);
  if (product && product->hasFloats() && !machine.arch.hasFloat8())
    return nn::Mismatch("the target does not multiply floats of 8 bits");
  return product;
}

namespace {
/// What the kernel is printed from.
struct FittedProduct {
  IntegerProduct product;
  int64_t vector;  ///< neighbouring columns of a store
  std::string end; ///< the text of what follows the sums
};

class IntegerGemm : public TunedSkeletonOf<IntegerGemmAttr, FittedProduct> {
  double compileMilliseconds() const override { return 200; }

  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::quantized)
      return std::nullopt;
    auto product = describeFor(problem.fusion(), machine);
    if (!product)
      return product.mismatch();
    for (IntegerGemmAttr schedule :
         rankTiles(*product, machine.arch, std::max(offers.most, 1u)))
      offers.add(schedule);
    return std::nullopt;
  }

  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    auto conv = dyn_cast<nn::QuantizedConvOp>(composite.getOperation());
    return conv && describeFor(conv, machine);
  }

  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(
        nn::QuantizedRewrite{kCopiedChannels, kFewestChannels, kLongRange,
                             /*narrowsFloats=*/machine.arch.capability >= 80});
  }

  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto conv = dyn_cast<nn::QuantizedConvOp>(chain.contraction());
    return conv && describeFor(conv, machine) &&
           isa<nn::ElementwiseOp>(chain.operators.back());
  }

  std::optional<nn::StepCost> costOf(Problem &problem, IntegerGemmAttr schedule,
                                     const Machine &machine) const override {
    auto product = describeFor(problem.fusion(), machine);
    if (!product)
      return std::nullopt;
    double blocks = double(ceilDiv(product->pixels(), schedule.getTileM()) *
                           ceilDiv(product->k, schedule.getTileN()) *
                           schedule.getCluster());
    return nn::StepCost{estimateTime(*product, schedule, machine.arch),
                        std::min(1.0, blocks / double(machine.arch.sms))};
  }

  nn::Match<FittedProduct> fit(Problem &problem, IntegerGemmAttr schedule,
                               const Machine &machine) const override;
  KernelText print(FittedProduct &fitted, Problem &problem,
                   IntegerGemmAttr schedule, StringRef name) const override;
};
} // namespace

nn::Match<FittedProduct> IntegerGemm::fit(Problem &problem,
                                          IntegerGemmAttr schedule,
                                          const Machine &machine) const {
  auto product = describeFor(problem.fusion(), machine);
  if (!product)
    return product.mismatch();
  if (sharedBytesOf(schedule) > machine.arch.sharedPerBlock)
    return nn::Mismatch("its stages need more shared memory than a block has");
  if (schedule.getOccupancy() * threadsOf(schedule) > machine.arch.threadsPerSm)
    return nn::Mismatch("an SM has no threads for so many blocks");
  if (schedule.getWgmma() && machine.arch.mma != Mma::wgmma)
    return nn::Mismatch("the target has no WGMMA");
  if (schedule.getCluster() > 1 && machine.arch.mma != Mma::wgmma)
    return nn::Mismatch("the target has no clusters");
  int64_t vector = neighboursOf(schedule);
  while (product->k % vector)
    vector /= 2;
  auto end = EndText(*product, problem.lowered(), vector).print();
  if (!end)
    return end.mismatch();
  return FittedProduct{*product, vector, *end};
}

KernelText IntegerGemm::print(FittedProduct &fitted, Problem &problem,
                              IntegerGemmAttr schedule, StringRef name) const {
  const IntegerProduct &product = fitted.product;
  const LinalgFusion &lowered = problem.lowered();
  nn::QuantizedConvOp conv = product.op;
  auto argument = [](Value v) { return cast<BlockArgument>(v).getArgNumber(); };
  auto parameter = [&](Value v) { return "x" + std::to_string(argument(v)); };
  bool early = llvm::is_contained(lowered.constantInputs(),
                                  int64_t(argument(conv.getW())));
  KernelText kernel;
  kernel.header = "integer_gemm";
  kernel.source = ("struct " + name + "_product {\n").str() +
                  parameterList(lowered, /*asFields=*/true) +
                  printProduct(product, schedule, early) +
                  constantsText("int", {{"kVector", fitted.vector}}) + "\n" +
                  fitted.end + "};\n";
  std::string call = startText(lowered) + "frit::integerGemm(" + name.str() +
                     "_product{" + argumentList(lowered) + "}, " +
                     parameter(conv.getX()) + ", " + parameter(conv.getW());
  if (!product.hasFloats())
    call +=
        ", " + parameter(conv.getXZero()) + ", " + parameter(conv.getWZero());
  call += ");\n";
  int64_t threads = threadsOf(schedule);
  kernel.source += kernelFunction(
      name, lowered,
      {.threads = threads,
       .wait = PdlWait::inSkeleton,
       .cluster = schedule.getCluster(),
       .occupancy = schedule.getOccupancy() > 1 ? schedule.getOccupancy() : 0},
      call);
  kernel.grid[0] = ceilDiv(product.pixels(), schedule.getTileM()) *
                   ceilDiv(product.k, schedule.getTileN()) *
                   schedule.getCluster();
  kernel.block[0] = threads;
  kernel.sharedBytes = sharedBytesOf(schedule);
  kernel.hasFloor = schedule.getWgmma();
  kernel.sums = schedule.getWarpM() * schedule.getWarpN() / 32;
  return kernel;
}

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<IntegerGemmAttr>() {
  return std::make_unique<IntegerGemm>();
}
