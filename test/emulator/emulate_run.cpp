//===- emulate_run.cpp - Hold a CUDA target to the cpu target -------------===//
//
//   emulate_run model.so kernels.so [options]
//
// Runs the CUDA target's plan of model.so with the emulated kernels that
// emulate.py made of the artifact's CUDA text, and compares the outputs with
// those of the artifact's cpu target, or with a file. Exits with 0 when they
// agree, 1 when they do not, 2 when something could not be run.
//
//   --arch=NAME        the CUDA target; default: the first
//   --input=NAME=FILE  an input's values (.npy); the others are random
//   --compare=FILE     expected outputs (.npz) instead of the cpu target's
//   --rtol=X           of |out - ref| / |ref|; default 1e-4
//   --int-limit=N      random integers are below N; default 4
//   --seeds=N          how many thread schedules to try; default 2
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Types.h"
#include "test/emulator/EmulatedPlan.h"
#include "test/emulator/Values.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace frit;
using namespace frit::emulation;

namespace {
struct Options {
  std::string model, kernels, arch, expected;
  std::map<std::string, std::string> inputs;
  double tolerance = 1e-4;
  int intLimit = 4, seeds = 2;
};
} // namespace

[[noreturn]] static void die(const std::string &message) {
  fprintf(stderr, "emulate_run: %s\n", message.c_str());
  exit(2);
}

static void require(const Status &status) {
  if (status.failed())
    die(status.message());
}

static void require(frit_status status) {
  if (status != FRIT_OK)
    die(frit_last_error());
}

static Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    auto value = [&](const char *flag) -> const char * {
      size_t length = strlen(flag);
      return argument.compare(0, length, flag) ? nullptr : argv[i] + length;
    };
    if (const char *text = value("--arch="))
      options.arch = text;
    else if (const char *text = value("--compare="))
      options.expected = text;
    else if (const char *text = value("--rtol="))
      options.tolerance = atof(text);
    else if (const char *text = value("--int-limit="))
      options.intLimit = atoi(text);
    else if (const char *text = value("--seeds="))
      options.seeds = atoi(text);
    else if (const char *text = value("--input=")) {
      const char *equals = strchr(text, '=');
      if (!equals)
        die("--input wants NAME=FILE");
      options.inputs[std::string(text, equals)] =
          equals + 1 + (equals[1] == '@');
    } else if (argument[0] == '-')
      die("unknown option '" + argument + "'");
    else if (options.model.empty())
      options.model = argument;
    else if (options.kernels.empty())
      options.kernels = argument;
    else
      die("too many files");
  }
  if (options.kernels.empty())
    die("usage: emulate_run model.so kernels.so [options]");
  return options;
}

/// The outputs of the artifact's cpu target.
static std::vector<std::vector<uint8_t>>
runOnCpu(const Options &options, const std::vector<void *> &inputs) {
  frit_module_options wanted = FRIT_MODULE_OPTIONS_INIT;
  wanted.device = "cpu";
  frit_module *module = nullptr;
  frit_context *context = nullptr;
  require(frit_module_load(options.model.c_str(), &wanted, &module));
  require(frit_context_create(module, &context));
  std::vector<frit_tensor> given(frit_module_input_count(module));
  std::vector<frit_tensor> got(frit_module_output_count(module));
  std::vector<std::vector<uint8_t>> outputs(got.size());
  for (uint32_t i = 0; i < given.size(); ++i)
    require(frit_module_input_tensor(module, i, inputs[i], &given[i]));
  for (uint32_t i = 0; i < got.size(); ++i) {
    frit_tensor_info info;
    require(frit_module_output(module, i, &info));
    outputs[i].resize(info.bytes);
    require(frit_module_output_tensor(module, i, outputs[i].data(), &got[i]));
  }
  require(
      frit_run(context, given.data(), given.size(), got.data(), got.size()));
  frit_context_destroy(context);
  frit_module_close(module);
  return outputs;
}

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  EmulatedPlan plan;
  require(plan.open(options.model, options.kernels, options.arch));

  std::vector<cpu::HostMemory> memory;
  std::vector<void *> inputs;
  for (const artifact::Tensor &tensor : plan.plan().inputs()) {
    std::string name(plan.plan().text(tensor.name));
    require(memory.emplace_back().allocate(tensor.bytes, "an input"));
    uint64_t count = tensor.bytes / elementBytes(tensor.type);
    auto file = options.inputs.find(name);
    if (file == options.inputs.end())
      fillRandom(memory.back().data(), tensor.type, count, inputs.size() + 1,
                 options.intLimit);
    else
      require(readNpy(file->second, tensor.type, memory.back().data(),
                      tensor.bytes));
    inputs.push_back(memory.back().data());
  }

  std::vector<std::vector<uint8_t>> expected;
  if (options.expected.empty())
    expected = runOnCpu(options, inputs);
  else
    for (const artifact::Tensor &tensor : plan.plan().outputs()) {
      expected.emplace_back(tensor.bytes);
      require(readNpz(options.expected,
                      std::string(plan.plan().text(tensor.name)), tensor.type,
                      expected.back().data(), tensor.bytes));
    }

  bool agree = true;
  for (int seed = 1; seed <= options.seeds; ++seed) {
    plan.setSeed(seed);
    require(plan.run(inputs));
    for (size_t i = 0; i < expected.size(); ++i) {
      const artifact::Tensor &tensor = plan.plan().outputs()[i];
      double error =
          relativeError(plan.output(i), expected[i].data(), tensor.type,
                        tensor.bytes / elementBytes(tensor.type));
      bool ok = error <= options.tolerance;
      agree &= ok;
      printf("%s %s %s: relative error %.2e over %zu steps, schedule %d\n",
             ok ? "ok  " : "FAIL",
             std::string(plan.plan().text(tensor.name)).c_str(),
             formatType(tensor.type, plan.plan().dims(tensor.dims)).c_str(),
             error, plan.stepCount(), seed);
    }
  }
  return !agree;
}
