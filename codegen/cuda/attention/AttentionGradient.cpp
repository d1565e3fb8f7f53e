//===- AttentionGradient.cpp - The gradient of attention by WGMMA ---------===//
//
// The skeleton wgmma_attention_gradient (wgmma_attention_gradient.cuh). It
// reads the sums of y · dy, which the pass attention-deltas computes.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/attention/AttentionText.h"
#include "codegen/cuda/attention/AttentionTile.h"
#include "codegen/cuda/target/Skeleton.h"
#include "dialects/nn/rewrites/AttentionDeltas.h"
#include "dialects/nn/rewrites/SideOutputs.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

using Layout = WgmmaAttentionGradientLayout;

/// Stages that hide the latency of copies.
static constexpr int64_t kStages = 6;

/// Returns whether the kernel computes this gradient, once it has delta.
static bool takesGradient(nn::AttentionGradOp op, const GpuArch &arch) {
  int64_t size = nn::shapeOf(op.getQ()).back();
  return arch.mma == Mma::wgmma && haveElements(op->getOperands()) &&
         (takesGradientMask(op) || nn::hasRanges(op.getMask())) &&
         isHalf(nn::tensorType(op.getQ()).getElementType()) &&
         size > Layout::smallest && size <= Layout::largest &&
         size % (kLineBytes / 16) == 0;
}

/// Returns the number of pairs of a tile of keys and one of queries.
static int64_t countPairs(const nn::AttentionGradientInfo &info) {
  return info.batch * info.groups *
         ceilDiv(std::max(info.queries, info.keys), Layout::tileM);
}

/// Describes a fusion that the kernel computes, or says why it does not.
static nn::Match<nn::AttentionGradientInfo>
describeGradient(Problem &problem, const GpuArch &arch) {
  const auto &info = problem.attentionGradient();
  if (!info)
    return info;
  if (!info->delta)
    return nn::Mismatch("it has no sums of y · dy");
  if (!takesGradient(info->op, arch))
    return nn::Mismatch("WGMMA computes gradients of 16-bit attention with "
                        "heads of 40 to 64 elements and masks of all keys, "
                        "or ranges of them");
  if (info->sumHeight &&
      (*info->sumHeight != kBoxLines || info->queries % kBoxLines != 0))
    return nn::Mismatch("it sums columns in parts that are not 16 queries");
  return info;
}

/// Formats the kernel's P.
static std::string definition(StringRef name, StringRef element, StringRef mask,
                              const nn::AttentionGradientInfo &info,
                              int64_t stages) {
  nn::AttentionGradOp op = info.op;
  std::string text =
      ("struct " + name + " {\n  using T = " + element + ";\n").str();
  text += constantsText(
      "int",
      {{"batch", info.batch}, {"heads", info.heads}, {"groups", info.groups}});
  text += constantsText(
      "int",
      {{"queries", info.queries}, {"keys", info.keys}, {"size", info.size}});
  text += "  static constexpr float scale = " +
          literal(op.getScaleAttr(), op.getScaleAttr().getType()) + ";\n";
  text += ("  static constexpr bool causal = " +
           StringRef(op.getCausal() ? "true" : "false") + ";\n")
              .str();
  std::pair<StringRef, const nn::AttentionOperand *> tensors[] = {
      {"Stats", &info.stats}, {"Delta", &*info.delta}, {"Q", &info.q},
      {"K", &info.k},         {"V", &info.v},          {"Dy", &info.dy},
      {"Dq", &info.dq},       {"Dk", &info.dk},        {"Dv", &info.dv}};
  text += ("  using Mask = " + mask + ";\n").str();
  const int64_t none[4] = {0, 0, 0, 0};
  text += stridesText("M", info.mask ? info.mask->strides : none);
  for (auto [field, tensor] : tensors)
    text += stridesText(field, ArrayRef(tensor->strides).drop_back());
  text += ("  static constexpr bool sumsColumns = " +
           StringRef(info.sumHeight ? "true" : "false") + ";\n")
              .str();
  text += constantsText("int", {{"stages", stages}});
  return text + "};\n";
}

/// Returns the gradient that the kernel computes with this schedule.
static nn::Match<nn::AttentionGradientInfo>
fitGradient(Problem &problem, WgmmaAttentionGradientAttr schedule,
            const GpuArch &arch) {
  auto info = describeGradient(problem, arch);
  if (!info)
    return info;
  if (Layout{schedule.getStages()}.sharedBytes() > arch.sharedPerBlock)
    return nn::Mismatch("its stages do not fit into shared memory");
  if (nn::Legality why = checkBlocks(schedule.getBlocks(), countPairs(*info)))
    return *why;
  return info;
}

static KernelText printGradient(const nn::AttentionGradientInfo &info,
                                const LinalgFusion &lowered, StringRef name,
                                WgmmaAttentionGradientAttr schedule) {
  Type element = elementType(lowered.outputs()[0]);
  KernelText kernel;
  kernel.header = "wgmma_attention_gradient";
  auto add = [&](const nn::AttentionOperand &operand, bool ofQueries,
                 int64_t lines) {
    unsigned argument = operand.argument ? operand.argument.getArgNumber()
                                         : lowered.inputElements().size();
    kernel.tensorMaps.push_back(
        operandMap(operand, argument, element,
                   {info.size, ofQueries ? info.queries : info.keys,
                    ofQueries ? info.heads : info.groups, info.batch},
                   lines));
  };
  add(info.q, true, Layout::tileN);
  add(info.k, false, Layout::tileN);
  add(info.v, false, Layout::tileN);
  add(info.dy, true, Layout::tileN);
  add(info.dq, true, kBoxLines);
  add(info.dk, false, kBoxLines);
  add(info.dv, false, kBoxLines);
  const StringRef mask =
      info.mask
          ? storageName(
                lowered.inputElements()[info.mask->argument.getArgNumber()])
          : StringRef("void");
  const std::string problemName = (name + "_problem").str();
  std::string call;
  llvm::raw_string_ostream os(call);
  os << "const frit::GradientTensors<" << problemName << "> tensors = {";
  llvm::interleaveComma(
      ArrayRef<const nn::AttentionOperand *>{
          &info.q, &info.k, &info.v, &info.dy, &info.dq, &info.dk, &info.dv,
          &info.stats, &*info.delta, info.mask ? &*info.mask : nullptr},
      os, [&](const nn::AttentionOperand *operand) {
        if (!operand)
          os << "nullptr";
        else if (operand->argument)
          os << "x" << operand->argument.getArgNumber();
        else
          os << "y0";
        if (operand && operand->offset)
          os << " + " << operand->offset;
      });
  os << (info.sumHeight ? ", y1" : ", nullptr")
     << "};\n#ifdef FRIT_HAS_WGMMA\nfrit::wgmmaAttentionGradient<"
     << problemName
     << ">({&m0, &m1, &m2, &m3, &m4, &m5, &m6}, tensors);\n#else\n"
        "frit::attentionGradientFloor(tensors);\n#endif\n";
  kernel.grid[0] = launchBlocks(schedule.getBlocks(), countPairs(info));
  kernel.block[0] = Layout::threads;
  kernel.sharedBytes = Layout{schedule.getStages()}.sharedBytes();
  kernel.source = definition(problemName, storageName(element), mask, info,
                             schedule.getStages()) +
                  kernelFunction(name, lowered,
                                 {.threads = Layout::threads,
                                  .tensorMaps = kernel.tensorMaps.size(),
                                  .wait = PdlWait::inSkeleton,
                                  .occupancy = 1},
                                 call);
  return kernel;
}

//===----------------------------------------------------------------------===//
// The skeleton
//===----------------------------------------------------------------------===//

LogicalResult WgmmaAttentionGradientAttr::verify(
    llvm::function_ref<InFlightDiagnostic()> emitError, int64_t stages,
    int64_t blocks) {
  return requireRanges(emitError, {{"stages", stages, 3, 8},
                                   {"blocks", blocks, 0, kMostBlocks}});
}

namespace {
class WgmmaAttentionGradient
    : public SkeletonOf<WgmmaAttentionGradientAttr, nn::AttentionGradientInfo> {
  double compileMilliseconds() const override { return 300; }
  /// Its cost beside other kernels is unknown.
  std::optional<nn::StepCost> costOf(Problem &, WgmmaAttentionGradientAttr,
                                     const Machine &) const override {
    return std::nullopt;
  }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::attentionGradient)
      return std::nullopt;
    auto info = describeGradient(problem, machine.arch);
    if (!info)
      return info.mismatch();
    offers.add(WgmmaAttentionGradientAttr::get(
        problem.context(), kStages,
        machine.arch.persistentBlocks(countPairs(*info), /*occupancy=*/1)));
    return std::nullopt;
  }
  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    auto op = dyn_cast<nn::AttentionGradOp>(*composite);
    return op && nn::hasDelta(op) && takesGradient(op, machine.arch);
  }
  /// TMA reads and writes rows of heads. The kernel itself reads the numbers of
  /// queries, at any stride.
  bool canUseView(nn::CompositeOp composite, Type element,
                  const nn::StridedPlaces &places) const override {
    auto op = dyn_cast<nn::AttentionGradOp>(*composite);
    if (!op || !nn::hasDelta(op))
      return false;
    if (places.shape.size() == 3)
      return element.isF32();
    return isHalf(element) && takesGradientView(element, places);
  }
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(nn::AttentionDeltasRewrite{[&machine](nn::AttentionGradOp op) {
      return takesGradient(op, machine.arch);
    }});
    rewrites.add(nn::SideOutputsRewrite{[&machine](nn::FusionOp fusion) {
                                          Problem problem(fusion);
                                          return bool(describeGradient(
                                              problem, machine.arch));
                                        },
                                        kBoxLines});
  }
  nn::Match<nn::AttentionGradientInfo>
  fit(Problem &problem, WgmmaAttentionGradientAttr schedule,
      const Machine &machine) const override {
    return fitGradient(problem, schedule, machine.arch);
  }
  KernelText print(nn::AttentionGradientInfo &info, Problem &problem,
                   WgmmaAttentionGradientAttr schedule,
                   StringRef name) const override {
    return printGradient(info, problem.lowered(), name, schedule);
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton>
frit::cuda::makeSkeleton<WgmmaAttentionGradientAttr>() {
  return std::make_unique<WgmmaAttentionGradient>();
}
