//===- WgmmaBytes.cpp - Products and convolutions of bytes on sm_90a ------===//
//
// The skeleton wgmma_bytes: tensor maps and launches as wgmma_bytes.cuh asks
// for them. Architectures without WGMMA run the tiles of integer_gemm.cuh.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/integer/ByteTiles.h"
#include "codegen/cuda/integer/IntegerText.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Neighbouring columns of a thread.
static constexpr int64_t kNeighbours = 8;
/// Maximum bytes of columns that each block copies to shared memory.
static constexpr int64_t kMostColumnBytes = 16 << 10;
/// Minimum sums of a block's only tile for which that pays.
static constexpr int64_t kLeastKeptSums = 128 * 128;

LogicalResult
WgmmaBytesAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                       int64_t tileM, int64_t tileN, int64_t stages,
                       int64_t cluster, int64_t split, int64_t occupancy,
                       bool pingpong, int64_t raster, int64_t blocks) {
  return verifyWgmmaTile(emitError, {tileM, tileN, stages, cluster, split,
                                     occupancy, pingpong, raster, blocks});
}

namespace {
/// What the kernel is printed from.
struct FittedBytes {
  IntegerProduct product;
  WgmmaTile tile;
  IntegerEnd end;
};

class WgmmaBytes : public TunedSkeletonOf<WgmmaBytesAttr, FittedBytes> {
  double compileMilliseconds() const override { return 250; }

  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::quantized ||
        offerChosen<WgmmaBytesAttr>(problem, machine, offers))
      return std::nullopt;
    auto product = describeFor(problem.fusion(), machine);
    if (!offers.wantsSeveral() || checkWgmmaBytes(*product, machine))
      return std::nullopt;
    WgmmaWork work = workOf(*product, problem);
    for (const WgmmaPick &pick : rankWgmmaTiles(work, machine.arch, offers.most,
                                                maySplit(*product, machine)))
      offers.add(scheduleOf<WgmmaBytesAttr>(
          problem.context(), byteTile(pick.tile, work, machine.arch)));
    return std::nullopt;
  }

  bool canFusePair(ArrayRef<Operation *> operators,
                   const Machine &machine) const override {
    auto product = describePair(operators);
    return product && !checkWgmmaBytes(*product, machine);
  }

  std::optional<nn::StepCost> costOf(Problem &problem, WgmmaBytesAttr schedule,
                                     const Machine &machine) const override {
    auto product = describeFor(problem.fusion(), machine);
    if (!product)
      return std::nullopt;
    WgmmaTile tile = wgmmaTileOf(schedule);
    WgmmaWork work = workOf(*product, problem);
    double blocks = double(launchBlocks(tile.blocks, tile.neededBlocks(work)));
    return nn::StepCost{
        wgmmaMicroseconds(work, tile, machine.arch),
        std::min(1.0, blocks / double(machine.arch.sms * tile.occupancy))};
  }

  nn::Match<FittedBytes> fit(Problem &problem, WgmmaBytesAttr schedule,
                             const Machine &machine) const override {
    auto product = describeFor(problem.fusion(), machine);
    if (!product)
      return product.mismatch();
    if (nn::Legality why = checkWgmmaBytes(*product, machine))
      return *why;
    WgmmaTile tile = wgmmaTileOf(schedule);
    WgmmaWork work = workOf(*product, problem);
    if (!tile.fits(work.needs, machine.arch) ||
        (tile.pingPong && !tile.layout(work.needs).canPingPong()))
      return nn::Mismatch("the tile does not fit into an SM");
    if (tile.split > work.k / kWgmmaDepth)
      return nn::Mismatch("more blocks divide the steps than there are");
    if (product->first && (tile.split > 1 || tile.pingPong))
      return nn::Mismatch("two products have neither a split nor ping-pong");
    if (nn::Legality why = checkBlocks(tile.blocks, tile.neededBlocks(work)))
      return *why;
    auto end = printEnd(*product, problem.lowered(), kNeighbours);
    if (!end)
      return end.mismatch();
    return FittedBytes{*product, tile, *end};
  }

  KernelText print(FittedBytes &fitted, Problem &problem, WgmmaBytesAttr,
                   StringRef name) const override;
};
} // namespace

/// Returns how many columns a block keeps: all, or those of a tile, if all of
/// the block's tiles have the same; 0 if it has one tile that is small.
static int64_t countColumns(const IntegerProduct &product,
                            const WgmmaTile &tile) {
  bool isSingle = tile.blocks == 0;
  if (tile.cluster * tile.split > 1 ||
      (isSingle && tile.m * tile.n < kLeastKeptSums))
    return 0;
  bool isSame = isSingle || (tile.raster == 1 && product.k % tile.n == 0 &&
                             tile.blocks % (product.k / tile.n) == 0);
  return isSame && product.k % tile.n == 0 && llvm::isPowerOf2_64(tile.n)
             ? tile.n
             : product.k;
}

/// Returns the layout with what the ends read for columns, as far as it fits
/// beside the rest.
static WgmmaLayout keepColumns(const WgmmaLayout &layout, int64_t columns,
                               const IntegerEnd &end) {
  int64_t own = end.columnBytes * columns;
  for (int64_t bytes : {own + end.firstColumnBytes * columns, own}) {
    WgmmaLayout other = layout;
    other.columnBytes = bytes;
    if (own > 0 && bytes <= kMostColumnBytes && other.fits() &&
        other.slots() == layout.slots())
      return other;
  }
  return layout;
}

/// Returns the map of x: a matrix, or pixels.
static artifact::TensorMap mapOfX(const IntegerProduct &product,
                                  const WgmmaTile &tile) {
  nn::QuantizedConvOp conv = product.op;
  auto argument = cast<BlockArgument>(conv.getX()).getArgNumber();
  Type type = nn::tensorType(conv.getX()).getElementType();
  artifact::TensorMap map;
  if (isByteProduct(product)) {
    map = tensorMap(argument, type, {product.c, product.pixels()}, {product.c},
                    {kByteDepth, tile.m});
    map.swizzle = kLineBytes;
    return map;
  }
  ByteWindows windows = windowsOf(product);
  int64_t pixel = product.c, line = pixel * product.w, image = line * product.h;
  map = tensorMap(argument, type,
                  {windows.c, windows.width, product.h, product.n},
                  {pixel, line, image});
  map.kind = artifact::MapKind::im2col;
  map.elementStrides[1] = product.strideW;
  map.elementStrides[2] = product.strideH;
  auto [lower, upper] = byteCorners(product);
  llvm::copy(lower, map.lower);
  llvm::copy(upper, map.upper);
  map.channels = kByteDepth / tapsOfByteStep(product);
  map.pixels = tile.m;
  map.swizzle = map.channels;
  return map;
}

/// Returns the map of boxes of a tensor with an element for each sum.
static artifact::TensorMap mapOfBoxes(const IntegerProduct &product,
                                      unsigned argument, Type element) {
  int64_t bytes = storageBytes(element);
  artifact::TensorMap map =
      tensorMap(argument, element, {product.k, product.pixels()},
                {product.k * bytes}, {kLineBytes / bytes, kBoxLines});
  map.swizzle = kLineBytes;
  return map;
}

/// Returns the operands of one of two products, each with its zero point.
static std::string operandText(nn::QuantizedConvOp conv) {
  return ", {" + parameterOf(conv.getX()) + ", " +
         parameterOf(conv.getXZero()) + "}, {" + parameterOf(conv.getW()) +
         ", " + parameterOf(conv.getWZero()) + "}";
}

KernelText WgmmaBytes::print(FittedBytes &fitted, Problem &problem,
                             WgmmaBytesAttr, StringRef name) const {
  const auto &[product, tile, end] = fitted;
  const LinalgFusion &lowered = problem.lowered();
  nn::QuantizedConvOp conv = product.op;
  WgmmaWork work = workOf(product, problem);
  int64_t columns = countColumns(product, tile);
  WgmmaLayout layout = keepColumns(tile.layout(work.needs), columns, end);
  std::string constants =
      constantsText("int", {{"tileM", tile.m}, {"tileN", tile.n}}) +
      constantsText("int", {{"stages", tile.stages},
                            {"cluster", tile.cluster},
                            {"split", tile.split},
                            {"blocks", tile.occupancy},
                            {"raster", tile.raster}}) +
      constantsText("bool", {{"pingPong", tile.pingPong}});
  if (layout.columnBytes > 0)
    constants += constantsText(
        "int", {{"columnBytes", layout.columnBytes}, {"columnsKept", columns}});
  KernelText kernel;
  kernel.header = product.first ? "byte_pair" : "wgmma_bytes";
  kernel.tensorMaps = {mapOfX(product, tile),
                       mapOfFilters(product, tile.n / tile.cluster)};
  // As wgmma_bytes.cuh decides from the end's text.
  SmallVector<Type> inputs(lowered.inputElements());
  Type stored = elementType(lowered.outputs().front());
  std::string maps = ", &m0, &m1";
  if (product.first) {
    IntegerProduct first = describeFirst(product);
    kernel.tensorMaps.insert(
        kernel.tensorMaps.begin(),
        {mapOfX(first, tile), mapOfFilters(first, tile.n / tile.cluster)});
    maps += ", &m2, &m3";
  }
  auto addBoxes = [&](bool isBoxed, unsigned argument, Type element) {
    maps += isBoxed ? ", &m" + std::to_string(kernel.tensorMaps.size())
                    : ", nullptr";
    if (isBoxed)
      kernel.tensorMaps.push_back(mapOfBoxes(product, argument, element));
  };
  bool reads = layout.passesBoxes && end.readsBoxes;
  Type read = reads ? inputs[*product.boxed] : stored;
  bool stores = layout.passesBoxes && end.storesBoxes &&
                storageBytes(read) == storageBytes(stored);
  if (!product.first && (reads || stores))
    addBoxes(reads, product.boxed.value_or(0), read);
  if (reads || stores)
    addBoxes(stores, unsigned(inputs.size()), stored);
  std::string problemText =
      name.str() + "_product{" + argumentList(lowered) + "}";
  std::string function = "frit::wgmmaBytes(", floor = "frit::byteFloor(";
  std::string operands = ", " + parameterOf(conv.getX()) + ", " +
                         parameterOf(conv.getW()) + zeroParameters(product);
  if (nn::QuantizedConvOp first = product.first) {
    function = "frit::wgmmaBytePair(";
    floor = "frit::bytePairFloor(";
    operands = operandText(first) + operandText(conv);
    problemText += ", " + name.str() + "_first{" + problemText + "}";
  }
  printProduct(kernel, product, end, lowered, name, constants,
               {.threads = layout.threads(),
                .cluster = tile.cluster * tile.split,
                .occupancy = tile.occupancy},
               callOrFloor(function + problemText + maps,
                           floor + problemText + operands));
  kernel.grid[0] = launchBlocks(tile.blocks, tile.neededBlocks(work));
  kernel.sharedBytes = layout.sharedBytes();
  // Accumulators per thread: for 64 rows, or for a whole tile in ping-pong.
  kernel.sums = tile.n / (layout.movesRegisters() && tile.split == 1 ? 1 : 2);
  return kernel;
}

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<WgmmaBytesAttr>() {
  return std::make_unique<WgmmaBytes>();
}
