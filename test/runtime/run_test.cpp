//===- run_test.cpp - Open, run and misuse a model on the host ------------===//

#include "Check.h"
#include "Opened.h"
#include "TestModel.h"
#include "frit/runtime.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <elf.h>
#include <thread>
#include <unistd.h>

using namespace frit::test;

static const frit_module_options cpuOptions =
    optionsFor("cpu", /*flags=*/0, /*threads=*/2);

namespace {
struct Data {
  float x[32];
  int64_t ids[4] = {1, 2, 3, 400};
  float y[12] = {}, z[12] = {};

  Data() {
    for (int i = 0; i < 32; ++i)
      x[i] = float((i * 7) % 5) - 2;
  }
  bool isRight(const float *result) const {
    std::vector<float> expected = expectedResult(x, ids);
    for (int i = 0; i < 12; ++i)
      if (std::fabs(result[i] - expected[i]) > 1e-5f)
        return false;
    return true;
  }
};
} // namespace

static void testDescription(frit_module *module) {
  CHECK(!strcmp(frit_module_name(module), "test model"));
  CHECK(frit_module_input_count(module) == 2);
  CHECK(frit_module_output_count(module) == 2);
  frit_tensor_info info;
  CHECK(frit_module_input(module, 1, &info) == FRIT_OK);
  CHECK(!strcmp(info.name, "ids") && info.dtype == FRIT_I64 && info.rank == 1 &&
        info.dims[0] == 4 && info.bytes == 32);
  CHECK(frit_module_input(module, 2, &info) == FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("there is no index 2"));
  frit_target_info target;
  CHECK(frit_module_target(module, 0, &target) == FRIT_OK);
  CHECK(!strcmp(target.arch, "x86-64") && !target.is_cuda && target.chosen &&
        target.steps == 3 && target.launches == 1 &&
        target.library_calls == 1 && target.copies == 1 &&
        target.prepare_steps == 1 && target.arena_bytes == 512 &&
        target.arena_lower_bound == 48 && target.prepared_bytes == 256);
  CHECK(frit_module_weight_bytes(module) == 96 + 12);
  frit_device_info device;
  CHECK(frit_module_device(module, &device) == FRIT_OK);
  CHECK(!strcmp(device.device, "cpu") && device.threads == 2 && *device.name &&
        device.memory_bytes);
}

static void testRuns(frit_module *module) {
  frit_context *context = nullptr;
  CHECK(frit_context_create(module, &context) == FRIT_OK);
  Data data;
  frit_tensor inputs[2], outputs[2];
  CHECK(!frit_module_input_tensor(module, 0, data.x, &inputs[0]));
  CHECK(!frit_module_input_tensor(module, 1, data.ids, &inputs[1]));
  CHECK(!frit_module_output_tensor(module, 0, data.y, &outputs[0]));
  CHECK(!frit_module_output_tensor(module, 1, data.z, &outputs[1]));
  CHECK(frit_run(context, inputs, 2, outputs, 2) == FRIT_OK);
  CHECK(data.isRight(data.y) && data.isRight(data.z));

  // By name in another order, and one output only.
  std::swap(inputs[0], inputs[1]);
  memset(data.z, 0, sizeof data.z);
  CHECK(frit_run(context, inputs, 2, &outputs[1], 1) == FRIT_OK);
  CHECK(data.isRight(data.z));

  // By position.
  std::swap(inputs[0], inputs[1]);
  inputs[0].name = inputs[1].name = outputs[0].name = nullptr;
  memset(data.y, 0, sizeof data.y);
  CHECK(frit_run(context, inputs, 2, outputs, 1) == FRIT_OK);
  CHECK(data.isRight(data.y));

  // Misaligned memory, and an output over an input.
  alignas(64) char memory[256];
  memcpy(memory + 4, data.x, sizeof data.x);
  inputs[0].data = memory + 4;
  outputs[0].data = memory + 12;
  CHECK(frit_run(context, inputs, 2, outputs, 1) == FRIT_OK);
  CHECK(data.isRight(reinterpret_cast<float *>(memory + 12)));

  // The context's own buffers.
  inputs[0].data = data.x;
  float *own = static_cast<float *>(frit_context_output_buffer(context, 0));
  outputs[0].data = own;
  outputs[0].location = inputs[0].location = inputs[1].location = FRIT_DEVICE;
  alignas(16) float alignedX[32];
  alignas(16) int64_t alignedIds[4];
  memcpy(alignedX, data.x, sizeof alignedX);
  memcpy(alignedIds, data.ids, sizeof alignedIds);
  inputs[0].data = alignedX;
  inputs[1].data = alignedIds;
  CHECK(frit_run_async(context, inputs, 2, outputs, 1) == FRIT_OK);
  CHECK(frit_context_synchronize(context) == FRIT_OK);
  CHECK(data.isRight(own));
  CHECK(frit_context_input_buffer(context, 2) == nullptr);
  CHECK(frit_context_stream(context) == nullptr);
  frit_context_destroy(context);
}

static void testMisuse(frit_module *module) {
  frit_context *context = nullptr;
  CHECK(frit_context_create(module, &context) == FRIT_OK);
  Data data;
  frit_tensor inputs[3], output;
  CHECK(!frit_module_input_tensor(module, 0, data.x, &inputs[0]));
  CHECK(!frit_module_input_tensor(module, 1, data.ids, &inputs[1]));
  CHECK(!frit_module_output_tensor(module, 0, data.y, &output));
  auto fails = [&](uint32_t count, const char *message) {
    return frit_run(context, inputs, count, &output, 1) ==
               FRIT_INVALID_ARGUMENT &&
           lastErrorHas(message);
  };
  CHECK(fails(1, "input 'ids' is missing; it must be 4xi64"));
  const int64_t wrong[] = {4, 9};
  frit_tensor good = inputs[0];
  inputs[0].dims = wrong;
  CHECK(fails(2, "input 'x' must be 4x8xf32 and is 4x9xf32"));
  inputs[0] = good;
  inputs[0].dtype = FRIT_F16;
  CHECK(fails(2, "input 'x' must be 4x8xf32 and is 4x8xf16"));
  inputs[0] = good;
  inputs[0].rank = 1;
  CHECK(fails(2, "input 'x' must be 4x8xf32 and is 4xf32"));
  inputs[0] = good;
  inputs[0].name = "image";
  CHECK(fails(2, "there is no input 'image'; the model's inputs are: x, ids"));
  inputs[0] = inputs[1];
  CHECK(fails(2, "input 'ids' is given twice"));
  inputs[0] = good;
  inputs[0].data = nullptr;
  CHECK(fails(2, "input 'x' has no data"));
  inputs[0] = good;
  inputs[2] = good;
  inputs[2].name = nullptr;
  CHECK(fails(3, "there are too many inputs: the model has 2"));
  output.dtype = FRIT_F64;
  CHECK(fails(2, "output 'y' must be 4x3xf32 and is 4x3xf64"));
  CHECK(frit_run(nullptr, inputs, 2, &output, 1) == FRIT_INVALID_ARGUMENT);
  CHECK(frit_run_async(context, inputs, 2, &output, 1) ==
        FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("device tensors only"));
  frit_context_destroy(context);
}

static void testProfile(frit_module *module) {
  frit_context *context = nullptr;
  CHECK(frit_context_create(module, &context) == FRIT_OK);
  Data data;
  frit_tensor inputs[2], output;
  CHECK(!frit_module_input_tensor(module, 0, data.x, &inputs[0]));
  CHECK(!frit_module_input_tensor(module, 1, data.ids, &inputs[1]));
  CHECK(!frit_module_output_tensor(module, 0, data.y, &output));
  std::string seen;
  auto visit = [](void *user, const frit_step_info *step) {
    *static_cast<std::string *>(user) +=
        std::string(step->kind) + " " + step->node + " " + step->kernel + ";";
  };
  CHECK(frit_profile(context, inputs, 2, &output, 1, visit, &seen) == FRIT_OK);
  CHECK(seen == "gemm fc frit gemm;launch add add_ids;"
                "copy identity memmove;");
  CHECK(data.isRight(data.y));
  CHECK(frit_context_step_count(context) == 3);
  frit_context_destroy(context);
}

static void testDevices(Model &model) {
  frit_module *module = nullptr;
  frit_module_options options = cpuOptions;
  options.device = "tpu";
  CHECK(frit_module_open(model.get(), &options, &module) ==
        FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("unknown device 'tpu'"));
  options.device = "cuda:";
  CHECK(frit_module_open(model.get(), &options, &module) ==
        FRIT_INVALID_ARGUMENT);
  options.device = "cuda";
  CHECK(frit_module_open(model.get(), &options, &module) == FRIT_NO_DEVICE);
  CHECK(lastErrorHas("no code for GPUs, only for: x86-64"));
  options.struct_bytes = 3;
  CHECK(frit_module_open(model.get(), &options, &module) ==
        FRIT_INVALID_ARGUMENT);
  options = cpuOptions;
  options.device = "none";
  CHECK(frit_module_open(model.get(), &options, &module) == FRIT_OK);
  frit_context *context = nullptr;
  CHECK(frit_context_create(module, &context) == FRIT_INVALID_ARGUMENT);
  frit_module_close(module);

  Model other = makeTestModel();
  PlanWriter plan;
  plan.target("x86-64-v99");
  other.plan = plan.finish("other").plan;
  CHECK(frit_module_open(other.get(), nullptr, &module) == FRIT_NO_DEVICE);
  CHECK(lastErrorHas("no code for this processor"));
}

/// Checks that a contraction that no library accepts runs the model's own
/// kernel, and that without one the error names the node.
static void testFallback() {
  for (bool hasKernel : {true, false}) {
    PlanWriter plan;
    Buffer a = plan.input("a", DType::i16, {1, 1});
    Buffer c = plan.output("c", DType::i16, {1, 1});
    Gemm product;
    product.m = product.n = product.k = 1;
    product.lda = product.ldb = product.ldd = 1;
    product.typeA = product.typeB = product.typeD = DType::i16;
    Step &step = plan.gemm(product, "odd/matmul", {a, a, c});
    if (hasKernel)
      step.kernel = plan.kernel("square");
    plan.target("x86-64");
    Model model = plan.finish("fallback");
    model.kernels = {[](void *const *arguments, void *, int64_t, int64_t) {
      int16_t value = *static_cast<const int16_t *>(arguments[0]);
      *static_cast<int16_t *>(arguments[2]) = int16_t(value * value);
    }};
    frit::Module module;
    CHECK(!frit::Module::open(*model.get(), module, &cpuOptions));
    frit::Context context;
    CHECK(!frit::Context::create(module, context));
    int16_t value = 7, result = 0;
    frit::Error error = context.run({module.bindInput(0, &value)},
                                    {module.bindOutput(0, &result)});
    CHECK(bool(error) == !hasKernel);
    if (hasKernel)
      CHECK(result == 49);
    else
      CHECK(error.status() == FRIT_UNSUPPORTED &&
            error.message().find("node 'odd/matmul'") != std::string::npos);
  }
}

/// Checks that concurrent calls of a kernel have separate workspaces, at most
/// as many as the plan has.
static void testWorkspaces() {
  constexpr int kItems = 2000;
  PlanWriter plan;
  Buffer y = plan.output("y", DType::i32, {kItems});
  uint32_t kernel = plan.kernel("square");
  plan.kernels.back().workspaceBytes = 256;
  Step &step =
      plan.step(StepKind::launch, "y", {y, PlanWriter::arena(256, 768, true)});
  step.kernel = kernel;
  step.grid[0] = kItems;
  plan.target("x86-64");
  plan.program().arenaBytes = 1024;
  Model model = plan.finish("workspaces");
  model.kernels = {
      [](void *const *arguments, void *workspace, int64_t begin, int64_t end) {
        auto *own = static_cast<volatile int64_t *>(workspace);
        for (int64_t item = begin; item < end; ++item) {
          for (int i = 0; i < 32; ++i)
            own[i] = item;
          bool isOwn = uintptr_t(workspace) % 256 == 0;
          for (int i = 0; i < 32; ++i)
            isOwn &= own[i] == item;
          static_cast<int32_t *>(arguments[0])[item] = isOwn;
        }
      }};
  for (uint32_t threads : {1, 2, 5}) {
    frit_module_options options = cpuOptions;
    options.threads = threads;
    frit::Module module;
    CHECK(!frit::Module::open(*model.get(), module, &options));
    frit::Context context;
    CHECK(!frit::Context::create(module, context));
    std::vector<int32_t> right(kItems);
    CHECK(!context.run({}, {module.bindOutput(0, right.data())}));
    CHECK(std::count(right.begin(), right.end(), 1) == kItems);
  }

  plan.buffers.back().bytes = 255;
  model.plan = plan.finish("workspaces").plan;
  frit_module *module = nullptr;
  CHECK(frit_module_open(model.get(), &cpuOptions, &module) == FRIT_BAD_MODEL);
  CHECK(lastErrorHas("its workspace is too small"));
}

static void testExternalWeights() {
  char folder[] = "/tmp/frit-test-XXXXXX";
  CHECK(mkdtemp(folder));
  PlanWriter plan;
  Buffer w =
      plan.constant("w", DType::f32, {2}, std::vector<float>{0, 0}, true);
  plan.constants[0].file = plan.text("w.bin");
  plan.constants[0].offset = 3; // misaligned, as a file may have it
  plan.weights.clear();
  Buffer y = plan.output("y", DType::f32, {2});
  plan.step(StepKind::copy, "weight", {w, y});
  plan.target("x86-64");
  Model model = plan.finish("external");
  frit_module_options options = cpuOptions;
  options.weights_folder = folder;
  frit_module *missing = nullptr;
  CHECK(frit_module_open(model.get(), &options, &missing) == FRIT_IO_ERROR);
  CHECK(lastErrorHas("cannot open the weights in"));

  std::string path = std::string(folder) + "/w.bin";
  const float values[] = {1.5f, -2.5f};
  FILE *file = fopen(path.c_str(), "wb");
  fwrite("xyz", 3, 1, file);
  fwrite(values, 4, 1, file);
  fclose(file);
  CHECK(frit_module_open(model.get(), &options, &missing) == FRIT_IO_ERROR);
  CHECK(lastErrorHas("is too short: weight 'w' ends at byte 11 of 7"));
  file = fopen(path.c_str(), "ab");
  fwrite(values + 1, 4, 1, file);
  fclose(file);

  frit::Module module;
  CHECK(!frit::Module::open(*model.get(), module, &options));
  frit::Context context;
  CHECK(!frit::Context::create(module, context));
  float result[2] = {};
  CHECK(!context.run({}, {module.bindOutput(0, result)}));
  CHECK(result[0] == 1.5f && result[1] == -2.5f);
  unlink(path.c_str());
  rmdir(folder);
}

/// Checks that contexts of one module run concurrently.
static void testThreads(frit_module *module) {
  std::vector<std::thread> threads;
  bool right[4] = {};
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      frit_context *context = nullptr;
      if (frit_context_create(module, &context))
        return;
      Data data;
      data.ids[0] = number;
      frit_tensor inputs[2], output;
      (void)frit_module_input_tensor(module, 0, data.x, &inputs[0]);
      (void)frit_module_input_tensor(module, 1, data.ids, &inputs[1]);
      (void)frit_module_output_tensor(module, 0, data.y, &output);
      right[number] = true;
      for (int call = 0; call < 200; ++call)
        right[number] &=
            !frit_run(context, inputs, 2, &output, 1) && data.isRight(data.y);
      frit_context_destroy(context);
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(right[0] && right[1] && right[2] && right[3]);
}

/// Writes an ELF header of `machine` and tries to open it as a model.
static void openOf(uint16_t machine, unsigned char width, unsigned char order) {
  char path[] = "/tmp/frit-foreign-XXXXXX";
  int file = mkstemp(path);
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = width;
  header.e_ident[EI_DATA] = order;
  bool swapped = order == ELFDATA2MSB;
  header.e_type = swapped ? __builtin_bswap16(ET_DYN) : ET_DYN;
  header.e_machine = swapped ? __builtin_bswap16(machine) : machine;
  CHECK(write(file, &header, sizeof header) == sizeof header);
  close(file);
  frit_module *module = nullptr;
  CHECK(frit_module_load(path, nullptr, &module) == FRIT_BAD_MODEL);
  unlink(path);
}

/// Checks that models for other machines are refused by name, not by the
/// dynamic loader.
static void testForeignFiles() {
  openOf(EM_AARCH64, ELFCLASS64, ELFDATA2LSB);
  CHECK(lastErrorHas("is made for aarch64, and this machine is x86-64; compile "
                     "the model for x86-64"));
  openOf(EM_ARM, ELFCLASS32, ELFDATA2LSB);
  CHECK(lastErrorHas("is made for 32-bit Arm, and this machine is x86-64"));
  openOf(EM_S390, ELFCLASS64, ELFDATA2MSB);
  CHECK(lastErrorHas("is made for IBM Z, and this machine is x86-64"));
  openOf(0xface, ELFCLASS64, ELFDATA2LSB);
  CHECK(lastErrorHas("is made for machine 64206 of ELF, and this machine is"));
  openOf(EM_X86_64, ELFCLASS32, ELFDATA2LSB);
  CHECK(lastErrorHas("is damaged: its ELF header"));
}

static void testFiles() {
  frit_module *module = nullptr;
  CHECK(frit_module_load("no-such-file.so", nullptr, &module) == FRIT_IO_ERROR);
  CHECK(lastErrorHas("cannot open 'no-such-file.so'"));
  CHECK(frit_module_load("/dev/null", nullptr, &module) == FRIT_IO_ERROR);
  CHECK(frit_module_load("/etc/passwd", nullptr, &module) == FRIT_BAD_MODEL);
  CHECK(lastErrorHas("is no shared library"));
}

int main() {
  Model model = makeTestModel();
  frit_module *module = nullptr;
  CHECK(frit_module_open(model.get(), &cpuOptions, &module) == FRIT_OK);
  if (module) {
    testDescription(module);
    testRuns(module);
    testMisuse(module);
    testProfile(module);
    testThreads(module);
  }
  frit_module_close(module);
  testDevices(model);
  testFallback();
  testWorkspaces();
  testExternalWeights();
  testFiles();
  testForeignFiles();
  return finish("run_test");
}
