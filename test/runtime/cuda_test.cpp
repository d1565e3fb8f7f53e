//===- cuda_test.cpp - Run hand-written plans on a GPU --------------------===//
//
// Usage: cuda_test KERNELS.cubin KERNELS.ptx, both from cuda_kernels.cu: the
// cubin for sm_90a, the PTX for an architecture that every device supports.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "CudaLaunches.h"
#include "CudaProblems.h"
#include "CudaVariants.h"
#include "Opened.h"
#include "TestModel.h"
#include "frit/runtime.hpp"

#include <cmath>
#include <fstream>
#include <iterator>

using namespace frit::test;
using frit::Activation;

static std::string cubin, ptx;

static std::string readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Ends a plan whose steps are for a GPU.
static Target &cudaTarget(PlanWriter &plan, uint32_t prepareSteps = 0,
                          bool ptxOnly = false) {
  Target &target = plan.target(ptxOnly ? "compute_80" : "sm_90a", prepareSteps);
  plan.module(ptxOnly ? "" : cubin, ptx);
  return target;
}

/// Returns the test model, on a GPU.
static Model makeGpuTestModel(bool ptxOnly) {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {4, 8});
  Buffer ids = plan.input("ids", DType::i64, {4});
  Buffer y = plan.output("y", DType::f32, {4, 3});
  Buffer z = plan.output("z", DType::f32, {4, 3});
  std::vector<float> weights;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 3; ++j)
      weights.push_back(float(i - j));
  Buffer w = plan.constant("w", DType::f32, {8, 3}, weights, true);
  Buffer b =
      plan.constant("b", DType::f32, {3}, std::vector<float>{1, -2, 3}, false);
  Step &prepare = plan.step(StepKind::launch, "fc/bias",
                            {b, PlanWriter::prepared(0, 12, true)});
  prepare.kernel = plan.kernel("doubled");
  prepare.block[0] = 3;
  Gemm product;
  product.m = 4;
  product.n = 3;
  product.k = 8;
  product.lda = 8;
  product.ldb = product.ldd = 3;
  product.hasBias = 1;
  product.activation = Activation::relu;
  Step &fc = plan.gemm(product, "fc",
                       {x, w, PlanWriter::prepared(0, 12, false),
                        PlanWriter::arena(256, 48, true)});
  fc.kernel = plan.kernel("fc_fallback");
  fc.grid[0] = 4;
  fc.block[0] = 3;
  Step &add = plan.step(StepKind::launch, "add",
                        {PlanWriter::arena(256, 48, false), ids, y});
  add.kernel = plan.kernel("add_ids");
  add.grid[0] = 4;
  add.block[0] = 3;
  Buffer read = y;
  read.written = 0;
  plan.step(StepKind::copy, "identity", {read, z});
  Target &target = cudaTarget(plan, 1, ptxOnly);
  plan.program().arenaBytes = 512;
  target.preparedBytes = 256;
  return plan.finish("gpu test model");
}

static bool isClose(const float *got, const std::vector<float> &expected) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::fabs(got[i] - expected[i]) > 1e-4f)
      return false;
  return true;
}

static void testModel(unsigned flags, bool ptxOnly, const char *fcRunsOn) {
  Model model = makeGpuTestModel(ptxOnly);
  std::string remarks;
  frit_module_options options = keepRemarks(optionsFor("cuda", flags), remarks);
  frit::Module module;
  CHECK(!frit::Module::open(*model.get(), module, &options));
  frit::Context context;
  if (frit::Context::create(module, context))
    return CHECK(!"a context");
  float x[32], y[12] = {}, z[12] = {};
  int64_t ids[4] = {1, 2, 3, 400};
  for (int i = 0; i < 32; ++i)
    x[i] = float((i * 7) % 5) - 2;
  for (int call = 0; call < 20; ++call) {
    x[call] += 1;
    ids[call % 4] += call;
    memset(z, 0, sizeof z);
    CHECK(!context.run({module.bindInput(0, x), module.bindInput(1, ids)},
                       {module.bindOutput(0, y), module.bindOutput(1, z)}));
    CHECK(isClose(y, expectedResult(x, ids)) &&
          isClose(z, expectedResult(x, ids)));
  }
  frit_step_info step;
  CHECK(frit_context_step(context.get(), 0, &step) == FRIT_OK);
  CHECK(strstr(step.kernel, fcRunsOn));
  CHECK(remarks.find("without a CUDA graph") == remarks.npos);
  if (!remarks.empty() && !flags)
    printf("remarks: %s", remarks.c_str());

  // Use device tensors in place in the buffers of ten contexts, more than the
  // graph cache holds.
  std::vector<frit::Context> others(10);
  for (frit::Context &other : others)
    CHECK(!frit::Context::create(module, other));
  frit_tensor in[2] = {module.bindInput(0, x), module.bindInput(1, ids)};
  frit_tensor out = module.bindOutput(0, y);
  for (int round = 0; round < 3; ++round)
    for (frit::Context &other : others) {
      // Run there once, so that its buffers have the inputs.
      x[0] = float(round);
      CHECK(!other.run(in, {&out, 1}));
      frit_tensor deviceIn[2] = {in[0], in[1]}, deviceOut = out;
      for (uint32_t i = 0; i < 2; ++i) {
        deviceIn[i].data = frit_context_input_buffer(other.get(), i);
        deviceIn[i].location = FRIT_DEVICE;
      }
      memset(y, 0, sizeof y);
      CHECK(!context.run(deviceIn, {&deviceOut, 1}));
      CHECK(isClose(y, expectedResult(x, ids)));
      deviceOut.data = frit_context_output_buffer(other.get(), 0);
      deviceOut.location = FRIT_DEVICE;
      CHECK(!context.runAsync(deviceIn, {&deviceOut, 1}));
      CHECK(!context.synchronize());
    }
  frit_tensor odd = in[0];
  odd.data =
      static_cast<char *>(frit_context_input_buffer(context.get(), 0)) + 4;
  odd.location = FRIT_DEVICE;
  frit_tensor wrong[2] = {odd, in[1]};
  CHECK(context.run(wrong, {&out, 1}));
  CHECK(lastErrorHas("multiple of 16 bytes"));

  int visits = 0;
  memset(y, 0, sizeof y);
  CHECK(!frit_profile(
      context.get(), in, 2, &out, 1,
      [](void *user, const frit_step_info *step) {
        ++*static_cast<int *>(user);
        CHECK(step->duration >= 0 && step->duration < 1e5);
      },
      &visits));
  CHECK(visits == 3 && isClose(y, expectedResult(x, ids)));
}

static void testSharedMemory(const char *kernel, int64_t count) {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {count});
  Buffer y = plan.output("y", DType::f32, {count});
  Step &step = plan.step(StepKind::launch, kernel, {x, y});
  step.kernel = plan.kernel(kernel);
  step.block[0] = 256;
  step.sharedBytes = uint32_t(count) * 4;
  cudaTarget(plan);
  auto [model, module, context] =
      Opened(plan.finish("shared memory"), optionsFor("cuda"));
  std::vector<float> from(static_cast<size_t>(count)), to(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = float(i);
  CHECK(!context.run({module.bindInput(0, from.data())},
                     {module.bindOutput(0, to.data())}));
  float last = float(count - 1);
  CHECK(to.front() == last && to.back() == 0 && to[5] == last - 5);
}

/// Tests tensors too large for the staging buffer, and tensors staged in
/// several pieces.
static void testLargeCopies() {
  for (int64_t count : {700000, 9000000}) {
    PlanWriter plan;
    Buffer x = plan.input("x", DType::f32, {count});
    Buffer y = plan.output("y", DType::f32, {count});
    plan.step(StepKind::copy, "identity", {x, y});
    cudaTarget(plan);
    auto [model, module, context] =
        Opened(plan.finish("copies"), optionsFor("cuda"));
    std::vector<float> from(static_cast<size_t>(count));
    std::vector<float> to(from.size());
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = float(i % 1000003);
    CHECK(!context.run({module.bindInput(0, from.data())},
                       {module.bindOutput(0, to.data())}));
    CHECK(from == to);
  }
}

/// Uploads weights with several threads and checks all of them.
static void testLargeWeights() {
  PlanWriter plan;
  std::vector<std::vector<float>> values;
  for (int64_t count : {5000001, 3, 9000000}) {
    std::vector<float> &weight = values.emplace_back(size_t(count));
    for (size_t i = 0; i < weight.size(); ++i)
      weight[i] = float(i % 1000003 + values.size());
    std::string name = "w" + std::to_string(count);
    Buffer w = plan.constant(name, DType::f32, {count}, weight, true);
    plan.step(StepKind::copy, "identity",
              {w, plan.output("y" + name, DType::f32, {count})});
  }
  cudaTarget(plan);
  auto [model, module, context] =
      Opened(plan.finish("weights"), optionsFor("cuda"));
  std::vector<std::vector<float>> results;
  std::vector<frit_tensor> outputs;
  for (uint32_t i = 0; i < values.size(); ++i) {
    results.emplace_back(values[i].size());
    outputs.push_back(module.bindOutput(i, results.back().data()));
  }
  CHECK(!context.run({}, outputs));
  CHECK(results == values);
}

static void testFailures() {
  frit_module *module = nullptr;
  frit_module_options options = optionsFor("cuda");
  PlanWriter plan;
  plan.output("y", DType::f32, {1});
  Buffer y = {Space::output, 0, 0, 4, 1};
  plan.step(StepKind::launch, "increment", {y}).kernel =
      plan.kernel("increment");
  cudaTarget(plan);
  plan.program().arenaBytes = uint64_t(1) << 42;
  Model model = plan.finish("large");
  CHECK(frit_module_open(model.get(), &options, &module) == FRIT_OK);
  frit_context *context = nullptr;
  CHECK(frit_context_create(module, &context) == FRIT_OUT_OF_MEMORY);
  CHECK(lastErrorHas("needs 4.0 TiB") && lastErrorHas("are free"));
  frit_module_close(module);

  PlanWriter missing;
  missing.output("y", DType::f32, {1});
  missing.step(StepKind::launch, "n", {y}).kernel = missing.kernel("absent");
  cudaTarget(missing);
  model = missing.finish("missing");
  CHECK(frit_module_open(model.get(), &options, &module) == FRIT_BAD_MODEL);
  CHECK(lastErrorHas("lacks kernel 'absent'"));

  std::string whole = cubin;
  cubin.resize(cubin.size() / 2);
  PlanWriter cut;
  cut.output("y", DType::f32, {1});
  cut.step(StepKind::launch, "n", {y}).kernel = cut.kernel("increment");
  cudaTarget(cut);
  model = cut.finish("cut");
  CHECK(frit_module_open(model.get(), &options, &module) == FRIT_BAD_MODEL);
  CHECK(lastErrorHas("the code for sm_90a is damaged"));
  cubin = whole;

  options.device = "cuda:63";
  CHECK(frit_module_open(model.get(), &options, &module) == FRIT_NO_DEVICE);
  CHECK(lastErrorHas("there is no device cuda:63; the last one is cuda:"));
}

/// Run last, because it makes the device's context unusable.
static void testStray() {
  PlanWriter plan;
  Buffer y = plan.output("y", DType::f32, {1});
  plan.step(StepKind::launch, "lost/node", {y}).kernel = plan.kernel("stray");
  cudaTarget(plan);
  auto [model, module, context] =
      Opened(plan.finish("stray"), optionsFor("cuda", FRIT_NO_CUDA_GRAPH));
  float value;
  frit::Error error = context.run({}, {module.bindOutput(0, &value)});
  CHECK(error.status() == FRIT_DEVICE_ERROR &&
        error.message().find("node 'lost/node'") == 0);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  cubin = readFile(argv[1]);
  ptx = readFile(argv[2]);
  CHECK(!cubin.empty() && !ptx.empty());
  Model probe = makeGpuTestModel(/*ptxOnly=*/false);
  frit_module_options options = optionsFor("cuda");
  frit_module *module = nullptr;
  if (frit_module_open(probe.get(), &options, &module) == FRIT_NO_DEVICE) {
    printf("skipped: %s\n", frit_last_error());
    return 77;
  }
  frit_module_close(module);
  testModel(0, false, "cuBLASLt");
  testModel(FRIT_NO_CUDA_GRAPH, false, "cuBLASLt");
  testModel(FRIT_NO_CUBLAS, true, "fc_fallback");
  testSharedMemory("reverse", 16384);
  testSharedMemory("reverse_beside", 12288);
  testLargeCopies();
  testLargeWeights();
  testGemms();
  testConvs();
  testConvGradients();
  testAttentions();
  testAttentionGradients();
  testAlgorithms();
  testFailures();
  testTensorMaps(cubin);
  testProgrammaticLaunch(cubin);
  testBranches(cubin);
  testGuards(cubin);
  testState(cubin);
  testVariants(cubin, 0);
  testVariants(cubin, FRIT_NO_CUDA_GRAPH);
  testCounts(cubin, 0);
  testCounts(cubin, FRIT_NO_CUDA_GRAPH);
  testStray();
  return finish("cuda_test");
}
