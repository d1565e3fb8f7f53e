//===- ByteTiles.cpp - Products of bytes on sm_90a ------------------------===//

#include "codegen/cuda/integer/ByteTiles.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Part of the model's time of wgmma_bytes that one of integer_gemm must be
/// below: it counts neither what starts a tile nor what threads copy.
static constexpr double kCopiedShare = 0.75;
/// Minimum stages, of which each keeps its part of w.
static constexpr int64_t kLeastKept = 3;

bool frit::cuda::isByteProduct(const IntegerProduct &product) {
  return product.r * product.s == 1 && product.strideH == 1 &&
         product.strideW == 1 && product.padTop == 0 && product.padLeft == 0 &&
         product.p == product.h && product.q == product.w;
}

ByteWindows frit::cuda::windowsOf(const IntegerProduct &product) {
  int64_t bytes = product.s * product.c;
  bool rows = product.s > 1 && (bytes == 32 || bytes == 64 || bytes == 128) &&
              product.padLeft == 0 && product.strideW == 1 &&
              product.dilationW == 1 && product.q + product.s - 1 <= product.w;
  if (rows)
    return {bytes, product.w - product.s + 1, 1, true};
  return {product.c, product.w, product.s, false};
}

int64_t frit::cuda::tapsOfByteStep(const IntegerProduct &product) {
  int64_t c = windowsOf(product).c;
  bool isShared = product.r * product.s > 1 && (c == 32 || c == 64);
  return isShared ? kByteDepth / c : 1;
}

std::pair<SmallVector<int64_t, 3>, SmallVector<int64_t, 3>>
frit::cuda::byteCorners(const IntegerProduct &product) {
  return {{-product.padLeft, -product.padTop},
          {(product.q - 1) * product.strideW - product.padLeft + 1 -
               windowsOf(product).width,
           (product.p - 1) * product.strideH - product.padTop + 1 - product.h}};
}

artifact::TensorMap frit::cuda::mapOfFilters(const IntegerProduct &product,
                                             int64_t count, int64_t group) {
  nn::QuantizedConvOp conv = product.op;
  int64_t depth = product.depth(), dealt = 8 * group;
  int64_t line = product.isChain ? depth : kByteDepth;
  artifact::TensorMap map =
      tensorMap(cast<BlockArgument>(conv.getW()).getArgNumber(),
                nn::tensorType(conv.getW()).getElementType(),
                {depth, 2, 4, group, product.k / dealt},
                {depth, 2 * group * depth, 2 * depth, dealt * depth},
                {line, 2, 4, group, count / dealt});
  map.swizzle = line;
  return map;
}

nn::Legality frit::cuda::checkWgmmaBytes(const IntegerProduct &product,
                                         const Machine &machine) {
  if (machine.arch.mma != Mma::wgmma)
    return nn::Mismatch("the target has no WGMMA");
  if (product.isChain)
    return nn::Mismatch(
        "one of its products multiplies what the other becomes");
  if (product.first) {
    IntegerProduct first = describeFirst(product);
    if (tapsOfByteStep(product) * tapsOfByteStep(first) > 1)
      return nn::Mismatch("steps of its two products have several taps");
    if (nn::Legality why = checkWgmmaBytes(first, machine))
      return why;
  }
  if (product.c % kUnit || product.k % kDealt)
    return nn::Mismatch("its channels are no multiple of 16, or its filters of "
                        "32");
  if (!product.isCentered)
    return nn::Mismatch("its zero points are not known to be 0");
  if (isByteProduct(product))
    return std::nullopt;
  // Bytes of the next tap meet zeros, which a NaN or infinity would not bear.
  if (product.hasFloats() && product.r * product.s > 1 &&
      windowsOf(product).c % kByteDepth && tapsOfByteStep(product) == 1)
    return nn::Mismatch("channels of floats are neither 32, 64 nor a multiple "
                        "of 128");
  auto isByte = [](int64_t at) { return at >= -128 && at <= 127; };
  auto [lower, upper] = byteCorners(product);
  if (!llvm::all_of(lower, isByte) || !llvm::all_of(upper, isByte) ||
      product.strideH > 8 || product.strideW > 8)
    return nn::Mismatch("its windows or strides are too large for TMA");
  return std::nullopt;
}

/// Returns the steps of k of one product.
static int64_t stepsOf(const IntegerProduct &product) {
  ByteWindows windows = windowsOf(product);
  return ceilDiv(product.r * windows.s, tapsOfByteStep(product)) *
         ceilDiv(windows.c, kByteDepth);
}

WgmmaWork frit::cuda::workOf(const IntegerProduct &product, Problem &problem) {
  int64_t steps = stepsOf(product);
  if (product.first)
    steps += stepsOf(describeFirst(product));
  WgmmaWork work = {
      .m = product.pixels(), .n = product.k, .k = steps * kWgmmaDepth};
  work.alternates = !product.first;
  nn::FusionOp fusion = problem.fusion();
  work.needs.storesRegisters = true;
  if (product.boxed)
    work.needs.boxedBytes = 1;
  work.resultBytes = 0;
  for (Value result : fusion.getResults())
    work.resultBytes +=
        llvm::divideCeil(nn::tensorType(result).getElementTypeBitWidth(), 8);
  if (!product.boxed && product.storesBoxes)
    work.needs.boxedBytes = work.resultBytes;
  auto bytesOf = [](Value value) {
    auto type = nn::tensorType(value);
    return double(type.getNumElements() * type.getElementTypeBitWidth()) / 8;
  };
  nn::QuantizedConvOp conv = product.op;
  work.weightBytes = bytesOf(conv.getW());
  if (nn::QuantizedConvOp first = product.first)
    work.weightBytes += bytesOf(first.getW());
  for (Value operand : fusion.getOperands())
    work.otherBytes += bytesOf(operand);
  work.otherBytes +=
      double(work.m) * double(work.n * work.resultBytes) - work.weightBytes;
  work.endInstructions = product.endInstructions;
  work.waitsForBoxes = product.boxed && product.depth() <= kByteDepth;
  return work;
}

bool frit::cuda::maySplit(const IntegerProduct &product,
                          const Machine &machine) {
  return !product.first && !machine.batchInvariant;
}

WgmmaTile frit::cuda::byteTile(const WgmmaTile &pick, const WgmmaWork &work,
                               const GpuArch &arch) {
  WgmmaTile tile = pick.forWork(work, arch);
  int64_t steps = work.k / kWgmmaDepth, columns = ceilDiv(work.n, tile.n);
  int64_t stages = tile.stages / steps * steps;
  if (tile.cluster * tile.split > 1 || stages < kLeastKept ||
      tile.blocks == 0 || tile.blocks % columns)
    return tile;
  tile.stages = stages;
  tile.raster = 1;
  // Stages bring x alone, so boxes of a later tile are worth some.
  auto slots = [&](int64_t stages) {
    WgmmaTile other = tile;
    other.stages = stages;
    return other.layout(work.needs).slots();
  };
  while (tile.stages - steps >= kLeastKept &&
         slots(tile.stages - steps) > slots(tile.stages))
    tile.stages -= steps;
  return tile;
}

nn::Match<nn::Schedule>
frit::cuda::chooseIntegerKernel(Problem &problem, const Machine &machine) {
  auto decide = [](Problem &problem,
                   const Machine &machine) -> nn::Match<nn::Schedule> {
    auto product = describeFor(problem.fusion(), machine);
    if (!product)
      return product.mismatch();
    if (auto rows = chooseByteRows(*product, problem, machine))
      return *rows;
    SmallVector<IntegerGemmAttr> copied;
    if (!product->first)
      copied = rankTiles(*product, machine.arch, /*most=*/1);
    if (nn::Legality why = checkWgmmaBytes(*product, machine))
      return copied.empty() ? nn::Match<nn::Schedule>(*why)
                            : nn::Schedule(copied.front());
    WgmmaWork work = workOf(*product, problem);
    WgmmaPick pick = rankWgmmaTiles(work, machine.arch, /*most=*/1,
                                    maySplit(*product, machine))
                         .front();
    if (!copied.empty() &&
        estimateTime(*product, copied.front(), machine.arch) <
            kCopiedShare * pick.microseconds)
      return nn::Schedule(copied.front());
    return nn::Schedule(scheduleOf<WgmmaBytesAttr>(
        problem.context(), byteTile(pick.tile, work, machine.arch)));
  };
  return problem.decideOnce(decide, machine);
}
