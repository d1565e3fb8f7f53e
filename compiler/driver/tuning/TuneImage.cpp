//===- TuneImage.cpp - An image that repeats a contraction ----------------===//

#include "compiler/driver/tuning/TuneImage.h"

#include "codegen/cuda/compile/EmitKernels.h"
#include "codegen/cuda/compile/Nvrtc.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/planning/Contractions.h"
#include "compiler/planning/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <random>

using namespace mlir;
using namespace frit;

/// Target time of a call, and least time of a kernel for estimating it.
static constexpr double kCallMicroseconds = 400, kLeastMicroseconds = 3;
static constexpr unsigned kFewest = 4, kMost = 64;
/// Period of random numbers, not a multiple of any tile's row.
static constexpr size_t kPeriodBytes = 8 * 131071;

static double bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return double(tensor.getNumElements()) *
         std::max(1u, tensor.getElementTypeBitWidth() / 8);
}

/// Returns whether `input` does not depend on the model's inputs.
static bool isWeight(Value input) {
  if (input.getDefiningOp<nn::ConstantOp>())
    return true;
  auto argument = dyn_cast<BlockArgument>(input);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  return function &&
         function.getArgAttr(argument.getArgNumber(), "nn.prepared");
}

/// Returns whether `input` is a constant number, such as a zero point, on which
/// the choice of a schedule may depend.
static bool isNumber(Value input) {
  return input.getDefiningOp<nn::ConstantOp>() &&
         nn::tensorType(input).getNumElements() == 1;
}

/// Creates a constant of random codes, or numbers around one: sums of products
/// stay in range, and no zeros save power.
static nn::ConstantOp makeWeight(ImplicitLocOpBuilder &b,
                                 RankedTensorType type) {
  size_t bytes = size_t(bytesOf(type));
  AsmResourceBlob blob = HeapAsmResourceBlob::allocate(bytes, /*align=*/64,
                                                       /*dataIsMutable=*/true);
  MutableArrayRef<char> data = blob.getMutableData();
  std::minstd_rand random(1);
  Type element = type.getElementType();
  unsigned width = element.getIntOrFloatBitWidth();
  // Generating numbers takes longer than timing, so they repeat.
  size_t period = std::min(bytes, kPeriodBytes);
  for (size_t i = 0; i + width / 8 <= period; i += std::max(1u, width / 8)) {
    uint32_t bits = uint32_t(random());
    // The sign and most of the fraction are random, the exponent is near 0.
    uint64_t value = element.isF16()    ? 0x3800 | (bits & 0x83ff)
                     : element.isBF16() ? 0x3f00 | (bits & 0x80ff)
                     : element.isF32()  ? 0x3f000000 | (bits & 0x807fffff)
                     : element.isF64()  ? 0x3fe0000000000000 | bits
                     : width == 8       ? bits >> 8 & 0xff
                                        : bits & 1;
    std::memcpy(data.data() + i, &value, std::max(1u, width / 8));
  }
  for (size_t i = period; i < bytes; i += period)
    std::memcpy(data.data() + i, data.data(), std::min(period, bytes - i));
  auto handle = DenseResourceElementsAttr::get(type, "tuned", std::move(blob));
  return nn::ConstantOp::create(b, handle, b.getStringAttr("w"));
}

TuneImage::TuneImage(nn::FusionOp fusion, ArrayRef<nn::Schedule> schedules,
                     const cuda::CudaOptions &options)
    : fusion(fusion), schedules(schedules), options(options) {
  double bytes = 0;
  for (Type type : fusion->getOperandTypes())
    bytes += bytesOf(type);
  for (Type type : fusion->getResultTypes())
    bytes += bytesOf(type);
  cuda::GpuArch arch = options.device();
  double guess =
      std::max({double(planning::countFlops(fusion)) / arch.productRate,
                bytes / arch.memoryRate, kLeastMicroseconds});
  count = unsigned(
      std::clamp(kCallMicroseconds / guess, double(kFewest), double(kMost)));
}

void TuneImage::build() {
  Location loc = fusion.getLoc();
  module = ModuleOp::create(loc);
  ImplicitLocOpBuilder b(loc, fusion.getContext());
  b.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> types;
  double weightBytes = 0;
  for (Value input : fusion.getInputs())
    if (isWeight(input))
      weightBytes += bytesOf(input.getType());
    else
      types.push_back(input.getType());
  auto function = func::FuncOp::create(
      b, "main", b.getFunctionType(types, fusion->getResultTypes()));
  Block *body = function.addEntryBlock();
  b.setInsertionPointToEnd(body);

  // Two times L2: a weight has left it when its turn comes again.
  double coldBytes = 2. * double(options.device().l2Bytes);
  size_t copies = weightBytes > 0 ? size_t(coldBytes / weightBytes) + 1 : 1;
  copies = std::min<size_t>(copies, count * schedules.size());
  std::vector<SmallVector<Value>> inputs(copies);
  for (SmallVector<Value> &list : inputs) {
    unsigned next = 0;
    for (Value input : fusion.getInputs())
      list.push_back(
          isNumber(input) ? b.clone(*input.getDefiningOp())->getResult(0)
          : isWeight(input)
              ? Value(makeWeight(b, cast<RankedTensorType>(input.getType()))
                          .getY())
              : Value(body->getArgument(next++)));
  }
  Operation *last = nullptr;
  for (unsigned i = 0; i < count * schedules.size(); ++i) {
    last = b.clone(*fusion);
    last->setOperands(inputs[i % copies]);
    cast<nn::FusionOp>(last).setScheduleAttr(schedules[i % schedules.size()]);
  }
  func::ReturnOp::create(b, last->getResults());
}

llvm::Error TuneImage::emit() {
  build();
  std::string message;
  // A schedule that cannot be emitted is not a candidate.
  ScopedDiagnosticHandler quiet(
      module->getContext(),
      [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  cuda::CudaTarget target(options);
  PipelineOptions pipeline;
  pipeline.fallbacks = false;
  PassManager passes(module->getContext());
  addPlanPasses(passes, target, pipeline, EntryPoint{"main"});
  passes.addNestedPass<plan::TargetOp>(cuda::createEmitKernelsPass(options));
  addMemoryPasses(passes);
  if (failed(passes.run(*module)))
    return llvm::createStringError(message);
  texts = cuda::splitIntoModules(*module->getOps<plan::TargetOp>().begin());
  return llvm::Error::success();
}

llvm::Error TuneImage::compile() {
  // A plan of library calls alone has no kernels.
  for (const cuda::ModuleText &text : texts) {
    auto compiled = cuda::compileCuda(text.text, options.arch);
    if (!compiled)
      return compiled.takeError();
    code.modules.push_back({std::move(compiled->cubin), ""});
  }
  return llvm::Error::success();
}

llvm::Expected<frit_image> TuneImage::finish() {
  llvm::StringMap<artifact::TargetCode> codes;
  codes[options.arch] = std::move(code);
  auto serialized = artifact::serialize(*module, "tuned", codes);
  if (failed(serialized))
    return llvm::createStringError("its plan cannot be written");
  image = std::move(*serialized);
  weights.resize(image.weightBytes);
  for (const artifact::WeightRun &run : image.weights)
    llvm::copy(run.bytes, weights.begin() + run.offset);
  frit_image result = {};
  result.abi = FRIT_IMAGE_ABI;
  result.plan = image.plan.data();
  result.plan_bytes = image.plan.size();
  result.weights = weights.data();
  result.weight_bytes = weights.size();
  return result;
}
