//===- PassLists.cpp - The passes of each stage, in order -----------------===//
//
// Each pass is a .cpp of its name, which begins with an example, in
// compiler/transform, compiler/training, compiler/planning or codegen.
//
//===----------------------------------------------------------------------===//

#include "compiler/pipeline/Pipeline.h"
#include "compiler/planning/Passes.h"
#include "compiler/training/Passes.h"
#include "compiler/transform/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace frit;

void frit::addRecognitionPasses(OpPassManager &passes,
                                const PipelineOptions &options) {
  // Shape arithmetic folds to constants; equal operators become one. Slices do
  // not move above norms, which Compose has yet to recognize.
  SimplifyOptions whole;
  whole.sliceRows = false;
  passes.addPass(createSimplify(whole));
  // Batch norms fold into convolutions; decomposed attention, layer norm, gelu
  // and silu become one operator again.
  if (options.fuse)
    passes.addPass(createCompose());
}

void frit::addWideningPasses(OpPassManager &passes) {
  PrecisionOptions precision;
  precision.mode = "fp32";
  precision.keep.push_back("*");
  passes.addPass(createPrecision(precision));
  passes.addPass(createSimplify());
}

StringRef frit::precisionOf(const PipelineOptions &options,
                            const EntryPoint &entry) {
  bool isGiven = options.precision != "fp32";
  return isGiven || entry.ownPrecision.empty() ? options.precision
                                               : entry.ownPrecision;
}

void frit::addPrecisionPasses(OpPassManager &passes,
                              const PipelineOptions &options,
                              const EntryPoint &entry) {
  // Casts go in by operator class; sums stay f32.
  PrecisionOptions precision;
  StringRef wanted = precisionOf(options, entry);
  precision.mode = entry.hasTypes && isNarrow(wanted) ? "fp32" : wanted.str();
  precision.keep = options.keepWide;
  passes.addPass(createPrecision(precision));
  // Inputs and outputs get the caller's types; casts connect them to the chosen
  // precision.
  InterfaceTypesOptions interface;
  interface.types = entry.types;
  passes.addPass(createInterfaceTypes(interface));
  // Caches and the like become memory that lasts from call to call.
  if (!entry.states.empty()) {
    passes.addPass(createSimplify());
    BindStatesOptions bound;
    bound.states = entry.states;
    passes.addPass(createBindStates(bound));
  }
  // A model of diffusion becomes one step of its sampler, whose sums are f32.
  if (!entry.sampler.empty()) {
    AddSamplerOptions sampler;
    sampler.sampler = entry.sampler;
    passes.addPass(createAddSampler(sampler));
  }
  passes.addPass(createSimplify());
}

void frit::addTargetPasses(OpPassManager &passes, const nn::Target &target,
                           const PipelineOptions &options,
                           const EntryPoint &entry,
                           CompressedWeights &compressed) {
  const std::optional<TrainingOptions> &training = entry.training;
  // Products of integers, with the quantization of their results, and of 8-bit
  // floats.
  QuantizedConvsOptions quantized;
  quantized.narrowsFloats = isNarrow(precisionOf(options, entry));
  passes.addPass(createQuantizedConvs(target, quantized));
  // Convolutional networks run channels last from end to end. A group norm that
  // trains has a kernel for its moments and a gradient of its own there;
  // targets may ask for it elsewhere, too.
  LayoutOptions layout;
  layout.groupNorms = training.has_value();
  passes.addPass(createLayout(target, layout));
  // Gradients, in the layout of the values that they belong to, and the updates
  // of the optimizer. Some convolutions share a gradient with their batch norm,
  // and some gradients of attention read sums instead of its result.
  if (training) {
    passes.addPass(createConvBatchNorms(target));
    bool isFloat8 = options.precision == "amp-fp8";
    passes.addPass(createAddOptimizer(
        *training, entry.role,
        /*isBf16=*/isFloat8 || StringRef(options.precision).ends_with("bf16")));
    passes.addPass(createAttentionDeltas(target));
    passes.addPass(createSimplify());
    // Products with weights, and of gradients with these, are rounded to 8
    // bits.
    if (isFloat8) {
      Float8ProductsOptions float8;
      float8.gradients = options.float8Gradients;
      passes.addPass(createFloat8Products(target, float8));
    }
  }
  // Products whose columns are values and gates multiply them in their kernels,
  // unless a variant of few rows might read the weights in their own order,
  // too: of another size, or the step of a language model after its prompt.
  if (options.fuse && !training && entry.states.empty() &&
      entry.model.modules.size() == 1)
    passes.addPass(createGateProducts(target));
  // Layer norms become factors of the products that read them.
  if (options.fuse && !training)
    passes.addPass(createFoldNorms(target));
  // Composites without a kernel on the target are decomposed.
  passes.addPass(createDecompose(target));
  passes.addPass(createSimplify());
  // Values of the forward pass that the backward pass reads are stored in 16
  // bits. Sums over many rows for few columns, which gradients have many of,
  // get more threads.
  if (training) {
    passes.addPass(createRecomputeWide());
    passes.addPass(createSplitReductions(target));
  }
  // Functions from one byte to another become tables, which the next pass
  // moves.
  passes.addPass(createByteTables(target));
  // Sparse weights lose their zeros where that is faster.
  passes.addPass(createCompressWeights(target, &compressed));
  // A pointwise convolution of a product's sum with something else becomes one
  // kernel of both, by the product of their weights, unless these are sparse.
  // Variants that are too small for that would read the weights themselves.
  // So does the convolution of a doubled image become one of the image itself,
  // by sums of its filters.
  if (options.fuse && !training && entry.states.empty() &&
      entry.model.modules.size() == 1) {
    passes.addPass(createFoldProducts(target));
    passes.addPass(createFoldUpsampling(target));
  }
  // Quantized weights stay as they are, in the order in which kernels read
  // them.
  passes.addPass(createTileWeights(target));
  // Small weights get the order in which products of few rows read them.
  passes.addPass(createTransposeWeights(target));
  // Operators that depend on weights alone move to @prepare, which runs once at
  // load.
  passes.addPass(createHoistPrepare());
  // The optimizer's kernels also store the weights in 16 bits, as the next step
  // reads them, if kernels write state in place. To save memory, each step
  // casts them, and maybe again for its backward pass.
  bool savesMemory =
      training && (options.memoryLimit || !training->recompute.empty());
  if (entry.isTrainStep() && options.fuse && target.overwritesState() &&
      !savesMemory)
    passes.addPass(createStoreCasts());
  // TMA cannot read rows that are no multiple of 16 bytes, so gradients of an
  // odd number of classes get a few more columns. This comes after
  // HoistPrepare, which would store the masks.
  if (training)
    passes.addPass(createAlignColumns(target));
  // Operators that only one value of a condition needs run for that value only.
  if (options.guard)
    passes.addPass(createGuard(target));
  // Operators become kernels, and each kernel gets its skeleton and tile.
  FusionOptions fusion;
  fusion.fuse = options.fuse;
  passes.addPass(createFusion(target, fusion));
  if (training) {
    passes.addPass(createCSEPass());
    // Kernels that reduce rows also sum the columns of their operands, and
    // kernels of products the columns of their results, or parts of rows of
    // these times another tensor. Kernels of products also store activations
    // whose operands the backward pass reads, unless these are recomputed to
    // save memory.
    if (options.fuse) {
      SideOutputsOptions sides;
      sides.activations = !savesMemory;
      passes.addPass(createSideOutputs(target, sides));
    }
  }
  // Attention of few queries rotates them, and appends to its caches. Small
  // kernels that do not depend on each other become one.
  if (options.fuse && !training) {
    passes.addPass(createJoinAppends(target));
    passes.addPass(createJoinMaps(target));
  }
  // Thousands of kernels that differ in numbers alone become one that reads
  // them.
  if (options.fuse)
    passes.addPass(createShareKernels());
  passes.addPass(createSchedule(target));
  // Products that only read weights, long before others need them, leave most
  // of the device to kernels beside them.
  if (options.fork && !training)
    passes.addPass(createRunBeside(target));
  // A sampler runs the kernels of its step several times.
  if (!entry.sampler.empty())
    passes.addPass(createRepeatSteps());
  // Nodes that train.json lists are recomputed for the backward pass.
  if (entry.isTrainStep() && !training->recompute.empty())
    passes.addPass(createRecompute(*training));
}

void frit::addPlanPasses(OpPassManager &passes, const nn::Target &target,
                         const PipelineOptions &options,
                         const EntryPoint &entry) {
  planning::BuildPlanOptions plan{target};
  plan.function = entry.name;
  plan.role = entry.role;
  plan.fallbacks = options.fallbacks;
  // Kernels are shared by text; steps name their buffers.
  passes.addPass(planning::createBuildPlanPass(plan));
  // Small kernels that run many times, such as the last sums of the gradients
  // of biases, run several times in one launch.
  passes.addPass(planning::createBatchLaunchesPass());
  // Every edge between steps is in the plan from here on. Collectives run
  // beside the steps that need not wait for them.
  passes.addPass(planning::createOrderStepsPass());
  // Steps that leave the device partly idle run concurrently.
  if (options.fork)
    passes.addPass(planning::createForkPass(target));
}

void frit::addMemoryPasses(OpPassManager &passes) {
  // No two steps that share memory may run concurrently.
  passes.addPass(planning::createCheckEdgesPass());
  // Every buffer gets its offset in one arena.
  passes.addPass(planning::createPlanMemoryPass());
}
