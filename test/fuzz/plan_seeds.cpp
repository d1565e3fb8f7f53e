//===- plan_seeds.cpp - Seed inputs of the plan target --------------------===//
//
//   fuzz_plan_seeds FOLDER
//
// Writes the model of the runtime's tests, and one with a GPU's steps, with
// static and symbolic shapes.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/DerivedModel.h"
#include "test/runtime/StateModel.h"
#include "test/runtime/StringModel.h"
#include "test/runtime/TestModel.h"

#include <fstream>

using namespace frit::test;

static void write(const std::string &path, const std::vector<uint8_t> &bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
}

static Gemm product(int64_t rows) {
  Gemm gemm;
  gemm.m = rows;
  gemm.k = gemm.lda = 16;
  gemm.n = gemm.ldb = gemm.ldd = 8;
  gemm.typeA = gemm.typeB = gemm.typeD = DType::f16;
  gemm.compute = Compute::f16;
  gemm.hasBias = 1;
  return gemm;
}

/// Adds the steps of one variant, for `rows` rows; x, y and z are its tensors.
static void addSteps(PlanWriter &plan, int64_t rows, Buffer w, uint32_t kernel,
                     uint32_t mapped) {
  uint64_t inputBytes = uint64_t(rows) * 32, outputBytes = uint64_t(rows) * 16;
  Buffer x = {Space::input, 0, 0, inputBytes};
  Buffer y = {Space::output, 0, 0, outputBytes, 1};
  Buffer z = {Space::output, 1, 0, outputBytes, 1};
  Buffer hidden = PlanWriter::arena(0, outputBytes, true);
  Buffer bias = PlanWriter::prepared(0, 16, false);
  plan.gemm(product(rows), "fc", {x, w, bias, hidden}).kernel = kernel;
  hidden.written = 0;

  Conv conv;
  conv.n = rows;
  conv.c = conv.k = 8;
  conv.h = conv.w = conv.r = conv.s = conv.p = conv.q = 1;
  conv.type = DType::f16;
  conv.compute = Compute::f16;
  conv.channelsLast = 1;
  plan.convs.push_back(conv);
  Buffer filters = w;
  filters.bytes = 128;
  Step &convolve = plan.step(StepKind::conv, "conv", {hidden, filters, y});
  convolve.problem = uint32_t(plan.convs.size() - 1);
  convolve.kernel = kernel;

  // One head of size 8 per row, with packed Q, K and V.
  Attention attention;
  attention.batch = attention.heads = attention.groups = 1;
  attention.queries = attention.keys = rows;
  attention.size = attention.valueSize = 8;
  attention.inputs = 2;
  for (StridedOperand *operand :
       {&attention.q, &attention.k, &attention.v, &attention.y}) {
    operand->strides[2] = 8;
    operand->strides[3] = 1;
  }
  attention.k.argument = attention.hasMask = 1;
  attention.y.argument = 2;
  plan.attention(attention, "attention", {hidden, hidden, y}).kernel = kernel;

  Step &launch = plan.step(StepKind::launch, "add", {x, y});
  launch.kernel = mapped;
  launch.grid[0] = launch.grid[1] = 2;
  launch.block[0] = 128;
  launch.sharedBytes = 100 << 10;
  plan.follow(launch, {0});
  y.written = 0;
  plan.step(StepKind::copy, "identity", {y, z});
}

static std::vector<uint8_t> makeGpuPlan(bool open) {
  PlanWriter plan;
  std::vector<uint16_t> values(128);
  plan.input("x", DType::f16, {4, 16});
  plan.output("y", DType::f16, {4, 8});
  plan.output("z", DType::f16, {4, 8});
  Buffer w = plan.constant("w", DType::f16, {16, 8}, values, true);
  Buffer b =
      plan.constant("b", DType::f16, {8}, std::vector<uint16_t>(8), false);
  uint32_t kernel = plan.kernel("scale");
  uint32_t mapped = plan.kernel("add");
  TensorMap rows;
  rows.type = DType::f16;
  rows.rank = 2;
  rows.dims[0] = 16;
  rows.dims[1] = 4;
  rows.strides[0] = 32;
  rows.box[0] = 16;
  rows.box[1] = 4;
  rows.elementStrides[0] = rows.elementStrides[1] = 1;
  plan.tensorMap(rows);
  plan.step(StepKind::launch, "bias", {b, PlanWriter::prepared(0, 16, true)})
      .kernel = kernel;
  addSteps(plan, 4, w, kernel, mapped);
  Target &target = plan.target("sm_90a", 1);
  plan.module(emptyElf());
  target.preparedBytes = 256;
  plan.program().arenaBytes = 512;
  plan.program().arenaLowerBound = 64;

  if (open) {
    plan.input("x", DType::f16, {8, 16});
    plan.output("y", DType::f16, {8, 8});
    plan.output("z", DType::f16, {8, 8});
    Symbol batch;
    batch.name = plan.text("batch");
    batch.padded = 1;
    batch.most = 8;
    plan.symbols = {batch};
    for (std::vector<Tensor> *tensors : {&plan.inputs, &plan.outputs})
      for (Tensor &tensor : *tensors) {
        tensor.extents = {uint32_t(plan.extents.size()), 2};
        plan.extents.push_back({0, kNone, 1, 0});
        plan.extents.push_back({});
      }
    // The true size, after each variant's input.
    plan.input("size.batch", DType::i64, {});
    plan.inputs = {plan.inputs[0], plan.inputs[2], plan.inputs[1],
                   plan.inputs[2]};
    plan.sizes = 1;
    plan.variants = {{plan.shape({4}), {0, 2}, {0, 2}},
                     {plan.shape({8}), {2, 2}, {2, 2}}};
    uint32_t first = uint32_t(plan.steps.size());
    addSteps(plan, 8, w, kernel, mapped);
    Program program = plan.program();
    program.steps = {first, uint32_t(plan.steps.size()) - first};
    plan.programs.push_back(program);
    plan.targets.back().programs.count = 2;
  }
  return plan.finish("gpu model").plan;
}

static std::vector<uint8_t> makeCountedPlan() {
  PlanWriter plan;
  writeCountedSteps(plan, /*cuda=*/true);
  plan.target("sm_90a");
  plan.module(emptyElf());
  return plan.finish("counted model").plan;
}

static std::vector<uint8_t> makeGuardedPlan() {
  PlanWriter plan;
  writeGuardedSteps(plan);
  plan.target("sm_90a");
  plan.module(emptyElf());
  plan.program().arenaBytes = 256;
  return plan.finish("guarded model").plan;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 1;
  std::string folder = argv[1];
  write(folder + "/cpu", makeTestModel().plan);
  write(folder + "/gpu", makeGpuPlan(/*open=*/false));
  write(folder + "/open", makeGpuPlan(/*open=*/true));
  write(folder + "/sized_cpu", makeSizedModel().plan);
  write(folder + "/counted", makeCountedPlan());
  write(folder + "/guarded", makeGuardedPlan());
  write(folder + "/guarded_cpu", makeGuardedModel().plan);
  std::string elf = emptyElf();
  StateModelOptions stateful;
  write(folder + "/strings", makeStringModel().plan);
  write(folder + "/state_cpu", makeStateModel(stateful).plan);
  stateful.cubin = &elf;
  write(folder + "/state", makeStateModel(stateful).plan);
  stateful.guarded = false;
  stateful.lookArena = 4096;
  write(folder + "/peers", makeStateModel(stateful).plan);
  write(folder + "/derived_cpu", makeDerivedModel().plan);
  write(folder + "/derived", makeDerivedModel({"sm_90a", elf}).plan);
  write(folder + "/counted_cpu", makeCountedModel().plan);
}
