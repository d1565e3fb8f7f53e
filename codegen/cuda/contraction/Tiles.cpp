//===- Tiles.cpp - Products and convolutions of every architecture --------===//

#include "codegen/cuda/contraction/Contraction.h"
#include "codegen/cuda/contraction/ProblemText.h"
#include "dialects/nn/rewrites/Layout.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

static constexpr int64_t kMaxGridYZ = 65535;
/// Threads per block of gemm.cuh and conv.cuh.
static constexpr int64_t kTileThreads = 256;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Chooses tiles of 128 if there is still one for every SM.
static int64_t tileFor(int64_t m, int64_t n, int64_t batch,
                       const Machine &machine) {
  if (machine.batchInvariant)
    return 64;
  const GpuArch &arch = machine.arch;
  int64_t large = ceilDiv(m, 128) * ceilDiv(n, 128) * batch;
  return m >= 128 && n >= 128 && large >= arch.sms ? 128 : 64;
}

nn::Match<nn::Schedule> frit::cuda::chooseTiles(Problem &problem,
                                                const Machine &machine) {
  if (const auto &conv = problem.conv()) {
    int64_t tile = tileFor(conv->n * conv->p * conv->q, conv->k / conv->groups,
                           conv->groups, machine);
    return nn::Schedule(ConvAttr::get(problem.context(), tile, tile));
  }
  const auto &gemm = problem.gemm();
  if (!gemm)
    return isa<nn::ConvOp>(problem.fusion().getAnchor())
               ? problem.conv().mismatch()
               : gemm.mismatch();
  int64_t tile = tileFor(gemm->m, gemm->n, gemm->batch, machine);
  return nn::Schedule(GemmAttr::get(problem.context(), tile, tile));
}

/// Offers the default tile and the other one.
template <class Attr>
static nn::Legality offerTiles(Problem &problem, const Machine &machine,
                               Offers &offers) {
  if (problem.kind() != Problem::Kind::contraction || problem.convB2b() ||
      usesWgmmaGemm(problem, machine) || usesWgmmaConv(problem, machine))
    return std::nullopt;
  const nn::Match<nn::Schedule> &chosen =
      problem.decideOnce(chooseTiles, machine);
  if (!chosen)
    return chosen.mismatch();
  auto schedule = dyn_cast<Attr>(*chosen);
  if (!schedule)
    return std::nullopt;
  if (nn::Legality why = checkPlainEpilogue(
          problem.conv() ? problem.conv()->epilogue : problem.gemm()->epilogue))
    return why;
  offers.add(schedule);
  int64_t other = schedule.getTileM() == 64 ? 128 : 64;
  offers.addAlternative(Attr::get(problem.context(), other, other));
  return std::nullopt;
}

/// FLOPs per cycle of an SM with such tiles and f32 operands, and the latency
/// of a product's first operands in microseconds; measured on an H200 at
/// 1700 MHz.
static constexpr double kFloatFlops = 0.25e6 / 1700, kFillTime = 1.5;

static std::optional<nn::StepCost> costOfTiles(Problem &problem, int64_t tileM,
                                               int64_t tileN,
                                               const GpuArch &arch) {
  auto product = productOf(problem);
  if (!product)
    return std::nullopt;
  Type element = nn::tensorType(problem.fusion().getResult(0)).getElementType();
  double blocks = double(ceilDiv(product->m, tileM) *
                         ceilDiv(product->n, tileN) * product->batch);
  double rate = element.getIntOrFloatBitWidth() <= 16 ? arch.mmaRate
                : product->tf32 ? arch.mmaRate / 2
                                : kFloatFlops * arch.clock;
  double waves = std::ceil(blocks / double(arch.sms));
  return nn::StepCost{kFillTime + waves * 2.0 *
                                      double(tileM * tileN * product->k) / rate,
                      std::min(1.0, blocks / double(arch.sms))};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// The operands of a contraction, and the rows, columns and batches of results
/// that its tiles cover.
struct TiledProduct {
  Value a, b;
  int64_t rows, cols, batch;
  bool rowsFirst; ///< whether neighbouring blocks have neighbouring rows
};

static KernelText printTiles(StringRef function, ProblemText &text,
                             const nn::Epilogue &epilogue,
                             const TiledProduct &product, int64_t tileM,
                             int64_t tileN, const LinalgFusion &lowered,
                             StringRef name) {
  text.addFunction(epilogue);
  text.addConstants("int", {{"tileM", tileM}, {"tileN", tileN}});
  KernelText kernel;
  kernel.header = function;
  std::string call = ("frit::" + function + "<").str() + text.problem() + ">(" +
                     text.parameter(product.a) + ", " +
                     text.parameter(product.b) + ", " +
                     text.parameter(epilogue.bias()) + ", " +
                     text.parameter(epilogue.residual()) + ", y0);\n";
  kernel.source =
      text.definition() +
      kernelFunction(name, lowered, {.threads = kTileThreads}, call);
  int64_t m = ceilDiv(product.rows, tileM), n = ceilDiv(product.cols, tileN);
  kernel.grid[0] = product.rowsFirst ? m : n;
  kernel.grid[1] = std::min<int64_t>(product.rowsFirst ? n : m, kMaxGridYZ);
  kernel.grid[2] = std::min(product.batch, kMaxGridYZ);
  kernel.block[0] = kTileThreads;
  return kernel;
}

//===----------------------------------------------------------------------===//
// Skeletons
//===----------------------------------------------------------------------===//

static LogicalResult
verifyTile(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t tileM,
           int64_t tileN) {
  if (failed(require(emitError, tileM == 64 || tileM == 128, "tile_m",
                     "64 or 128")))
    return failure();
  return require(emitError, tileN == tileM, "tile_n", "as large as `tile_m`");
}

LogicalResult
GemmAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 int64_t tileM, int64_t tileN) {
  return verifyTile(emitError, tileM, tileN);
}

LogicalResult
ConvAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 int64_t tileM, int64_t tileN) {
  return verifyTile(emitError, tileM, tileN);
}

/// Returns whether to convert to channels last, which is faster both in frit's
/// kernels and in cuDNN's.
static bool prefersChannelsLast(nn::ConvOp conv) {
  return nn::tensorType(conv.getX()).getRank() == 4 && usesTensorCores(conv);
}

/// Returns whether to convert to two dimensions. No kernel supports three
/// dimensions, and none supports one dimension with channels last. Each tap in
/// time becomes a copy of the frames.
static bool prefersConv2D(nn::ConvOp conv) {
  constexpr int64_t mostTaps = 16;
  auto type = nn::tensorType(conv.getX());
  bool isLine = type.getRank() == 3;
  if ((conv.getGroup() != 1 && !(isLine && isDepthwise(conv))) ||
      !haveElements({conv.getX(), conv.getW(), conv.getY()}))
    return false;
  if (isLine)
    return usesTensorCores(conv);
  size_t time = conv.getChannelsLast() ? 1 : 2;
  return type.getRank() == 5 && !type.getElementType().isF64() &&
         nn::shapeOf(conv.getW())[time] <= mostTaps;
}

/// Returns whether a pixel has fewer channels than a 16-byte copy holds.
static bool prefersSpaceToDepth(nn::ConvOp conv, const GpuArch &arch) {
  auto type = nn::tensorType(conv.getX());
  return arch.mma == Mma::wgmma && prefersChannelsLast(conv) &&
         type.getElementTypeBitWidth() == 16 && type.getDimSize(1) * 16 < 128;
}

/// Returns the contraction of a fusion that the kernel of its skeleton
/// computes.
template <class Info>
static nn::Match<Info> fitTiles(const nn::Match<Info> &info, Problem &problem) {
  if (!info)
    return info;
  if (nn::Legality why = checkPlainEpilogue(info->epilogue))
    return *why;
  if (nn::Legality why = checkFunction(info->epilogue, problem.lowered()))
    return *why;
  return info;
}

/// Returns whether the epilogue joins a kernel that does not compete with a
/// library.
static bool joinsTiles(const Chain &chain) {
  return chain.epilogue && !checkPlainEpilogue(*chain.epilogue);
}

namespace {

class Gemm : public TunedSkeletonOf<GemmAttr, nn::GemmInfo> {
  double compileMilliseconds() const override { return 80; }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    return offerTiles<GemmAttr>(problem, machine, offers);
  }
  bool takesChain(const Chain &chain, const Machine &machine) const override {
    return isa<nn::MatmulOp>(chain.contraction()) && !machine.cublas &&
           joinsTiles(chain);
  }
  std::optional<nn::StepCost> costOf(Problem &problem, GemmAttr schedule,
                                     const Machine &machine) const override {
    return costOfTiles(problem, schedule.getTileM(), schedule.getTileN(),
                       machine.arch);
  }
  nn::Match<nn::GemmInfo> fit(Problem &problem, GemmAttr schedule,
                              const Machine &machine) const override {
    return fitTiles(problem.gemm(), problem);
  }
  KernelText print(nn::GemmInfo &info, Problem &problem, GemmAttr schedule,
                   StringRef name) const override {
    ProblemText text(problem.lowered(), name);
    text.addGemm(info);
    return printTiles(
        "gemm", text, info.epilogue,
        {info.a, info.b, info.m, info.n, info.batch, /*rowsFirst=*/false},
        schedule.getTileM(), schedule.getTileN(), problem.lowered(), name);
  }
};

class Conv : public TunedSkeletonOf<ConvAttr, nn::ConvInfo> {
  double compileMilliseconds() const override { return 300; }
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    using Form = nn::ConvRewrite::Form;
    rewrites.add(nn::ConvRewrite{Form::twoDimensional, prefersConv2D});
    rewrites.add(
        nn::ConvRewrite{Form::spaceToDepth, [&machine](nn::ConvOp conv) {
                          return prefersSpaceToDepth(conv, machine.arch);
                        }});
    rewrites.add(nn::ConvRewrite{Form::channelsLast, prefersChannelsLast});
  }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    return offerTiles<ConvAttr>(problem, machine, offers);
  }
  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto conv = dyn_cast<nn::ConvOp>(chain.contraction());
    if (!conv || !joinsTiles(chain))
      return false;
    auto shape = nn::describeConv(conv);
    return !machine.cudnn || (shape && hasFastGroups(*shape));
  }
  std::optional<nn::StepCost> costOf(Problem &problem, ConvAttr schedule,
                                     const Machine &machine) const override {
    return costOfTiles(problem, schedule.getTileM(), schedule.getTileN(),
                       machine.arch);
  }
  nn::Match<nn::ConvInfo> fit(Problem &problem, ConvAttr schedule,
                              const Machine &machine) const override {
    return fitTiles(problem.conv(), problem);
  }
  KernelText print(nn::ConvInfo &info, Problem &problem, ConvAttr schedule,
                   StringRef name) const override {
    ProblemText text(problem.lowered(), name);
    text.addConv(info);
    return printTiles("conv", text, info.epilogue,
                      {info.x, info.w, info.n * info.p * info.q,
                       info.k / info.groups, info.groups, /*rowsFirst=*/true},
                      schedule.getTileM(), schedule.getTileN(),
                      problem.lowered(), name);
  }
};

} // namespace

template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<GemmAttr>() {
  return std::make_unique<Gemm>();
}
template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<ConvAttr>() {
  return std::make_unique<Conv>();
}
