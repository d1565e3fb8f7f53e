//===- emulate_run.cpp - Compare a CUDA target with the CPU target --------===//
//
//   emulate_run model.so kernels.so [options]
//
// Runs the CUDA target's plan of model.so with the emulated kernels that
// emulate.py made of the artifact's CUDA text, and compares the outputs with
// those of the artifact's CPU target, or with a file. With the CPU target the
// state after the call is compared too. Exit status: 0 if they agree, 1 if not,
// 2 if something could not run. A variant that serves smaller sizes also runs
// for the least of them, on padded inputs. The options are in EmulateOptions.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Executor.h"
#include "test/emulator/EmulateOptions.h"
#include "test/emulator/EmulatedPlan.h"
#include "tools/support/Files.h"
#include "tools/support/RandomData.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace frit;
using namespace frit::emulation;
using tools::Fault;
using tools::Tensor;

static void require(const Status &status) {
  if (status.failed())
    die(status.message());
}

static void require(frit_status status) {
  if (status != FRIT_OK)
    die(frit_last_error());
}

/// Symbol sizes of a call.
using Sizes = std::vector<int64_t>;

static Tensor tensorLike(const PlanView &plan, const artifact::Tensor &like,
                         const Sizes &sizes) {
  Tensor tensor;
  tensor.name = plan.text(like.name);
  tensor.dtype = frit_dtype(like.type);
  auto dims = plan.dims(like.dims);
  tensor.dims.assign(dims.begin(), dims.end());
  std::span<const artifact::Extent> extents = plan.extents(like);
  for (size_t dim = 0; dim < extents.size(); ++dim)
    if (extents[dim].symbol != artifact::kNone)
      computeLength(extents[dim], sizes[extents[dim].symbol], tensor.dims[dim]);
  if (!allocate(tensor))
    die("no memory for '" + tensor.name + "'");
  return tensor;
}

static bool isPlain(const std::string &path) { return path.ends_with(".bin"); }

/// Reads a file that must have as many bytes as `tensor`; returns false if it
/// has not.
static bool readBytes(const std::string &path, Tensor &tensor) {
  FILE *file = fopen(path.c_str(), "rb");
  if (!file)
    return false;
  tools::Storage &data = tensor.data;
  bool fits = fread(data.data(), 1, data.size(), file) == data.size() &&
              fgetc(file) == EOF;
  fclose(file);
  return fits;
}

static Fault writeBytes(const std::string &path,
                        const std::vector<Tensor> &tensors) {
  const Fault fault("cannot be written");
  FILE *file = fopen(path.c_str(), "wb");
  if (!file)
    return fault;
  bool good = true;
  for (const Tensor &tensor : tensors)
    good &= fwrite(tensor.data.data(), 1, tensor.data.size(), file) ==
            tensor.data.size();
  return fclose(file) == 0 && good ? Fault() : fault;
}

/// Reads the tensors of the file at `path`.
static std::vector<Tensor> read(const std::string &path) {
  std::vector<Tensor> tensors;
  if (Fault fault = readTensors(path, tensors))
    die(fault.within(path).message());
  return tensors;
}

static std::vector<Tensor> makeInputs(const Options &options,
                                      const PlanView &plan, size_t variant,
                                      const Sizes &sizes) {
  std::vector<Tensor> inputs;
  for (const artifact::Tensor &like : plan.modelInputs(variant)) {
    Tensor tensor = tensorLike(plan, like, sizes);
    tools::RandomSpec random;
    random.seed = inputs.size() + 1;
    auto given = options.inputs.find(tensor.name);
    if (given == options.inputs.end() || parseRandom(given->second, random)) {
      fillRandom(tensor, random);
    } else if (isPlain(given->second)) {
      if (!readBytes(given->second, tensor))
        die(given->second + " does not hold " + tensor.type());
    } else {
      std::vector<Tensor> file = read(given->second);
      if (file.size() != 1 || file[0].type() != tensor.type())
        die(given->second + " does not hold one " + tensor.type());
      tensor.data = file[0].data;
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// Describes a tensor of the state.
static Tensor stateTensor(const PlanView &plan, const artifact::State &like) {
  Tensor tensor;
  tensor.name = plan.text(like.name);
  tensor.dtype = frit_dtype(like.type);
  auto dims = plan.dims(like.dims);
  tensor.dims.assign(dims.begin(), dims.end());
  if (!allocate(tensor))
    die("no memory for '" + tensor.name + "'");
  return tensor;
}

/// Returns the value that --each sets before a call.
static const float *changeBefore(const Options &options, int call) {
  return options.numbers.empty()
             ? nullptr
             : &options.numbers[call % options.numbers.size()];
}

/// Returns the number of the state that --each sets.
static size_t changedState(const Options &options, const PlanView &plan) {
  std::span<const artifact::State> states = plan.states();
  size_t index = 0;
  while (index < states.size() &&
         plan.text(states[index].name) != options.changed)
    ++index;
  if (index == states.size() || states[index].type != artifact::DType::f32 ||
      states[index].bytes != sizeof(float))
    die("there is no number '" + options.changed + "' in the state");
  return index;
}

/// Returns the tensors of --state that are states, with each one's index.
static std::vector<std::pair<size_t, Tensor>> readState(const Options &options,
                                                        const PlanView &plan) {
  std::vector<std::pair<size_t, Tensor>> given;
  if (options.state.empty())
    return given;
  for (Tensor &tensor : read(options.state))
    for (size_t i = 0; i < plan.states().size(); ++i)
      if (Tensor like = stateTensor(plan, plan.states()[i]);
          like.name == tensor.name) {
        // An .npz has numbers of 16 bits as f32.
        bool isWidened = tensor.dtype == FRIT_F32 && tensor.dims == like.dims;
        if (like.type() != tensor.type() && !isWidened)
          die(options.state + ": '" + like.name + "' is " + tensor.type() +
              ", not " + like.type());
        for (uint64_t at = 0; isWidened && at < like.count(); ++at)
          like.set(at, tensor.at(at));
        given.emplace_back(i, isWidened ? std::move(like) : std::move(tensor));
        break;
      }
  if (given.empty())
    die(options.state + " holds no tensor of the state");
  return given;
}

/// Returns the outputs of the artifact's CPU target, and then the state.
static std::vector<Tensor> runOnCpu(const Options &options,
                                    const PlanView &plan, size_t variant,
                                    const Sizes &sizes,
                                    std::vector<Tensor> &inputs) {
  frit_module_options wanted = FRIT_MODULE_OPTIONS_INIT;
  wanted.device = "cpu";
  frit_module *module = nullptr;
  frit_context *context = nullptr;
  require(frit_module_load(options.model.c_str(), &wanted, &module));
  if (!options.function.empty()) {
    frit_module *first = module;
    require(
        frit_module_open_function(first, options.function.c_str(), &module));
    frit_module_close(first);
  }
  require(frit_context_create(module, &context));
  std::vector<Tensor> outputs;
  std::vector<frit_tensor> given, got;
  for (const artifact::Tensor &like : plan.modelOutputs(variant))
    outputs.push_back(tensorLike(plan, like, sizes));
  for (Tensor &tensor : inputs)
    given.push_back(tensor.bind());
  for (Tensor &tensor : outputs)
    got.push_back(tensor.bind());
  for (auto &[index, state] : readState(options, plan)) {
    frit_tensor tensor = state.bind();
    require(frit_state_write(context, &tensor, 1));
  }
  for (int call = 0; call < options.calls; ++call) {
    if (const float *number = changeBefore(options, call)) {
      frit_tensor tensor = {};
      tensor.name = options.changed.c_str();
      tensor.data = const_cast<float *>(number);
      tensor.dtype = FRIT_F32;
      auto dims = plan.dims(plan.states()[changedState(options, plan)].dims);
      tensor.rank = uint32_t(dims.size());
      tensor.dims = dims.data();
      require(frit_state_write(context, &tensor, 1));
    }
    require(
        frit_run(context, given.data(), given.size(), got.data(), got.size()));
  }
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    Tensor &output = outputs[i];
    require(frit_context_output_dims(context, i, output.dims.data()));
    output.data.resize(*tools::byteSize(output.dtype, output.dims));
  }
  std::vector<frit_tensor> states;
  for (const artifact::State &like : plan.states())
    outputs.push_back(stateTensor(plan, like));
  for (Tensor &tensor : std::span(outputs).last(plan.states().size()))
    states.push_back(tensor.bind());
  require(frit_state_read(context, states.data(), uint32_t(states.size())));
  frit_context_destroy(context);
  frit_module_close(module);
  return outputs;
}

/// Returns the outputs of a file in the plan's order, matched by name.
static std::vector<Tensor> readExpected(const Options &options,
                                        const PlanView &plan, size_t variant) {
  std::vector<Tensor> file = read(options.expected), outputs;
  for (const artifact::Tensor &like : plan.modelOutputs(variant)) {
    std::string name(plan.text(like.name));
    for (const Tensor &tensor : file)
      if (tensor.name == name && tensor.dtype == frit_dtype(like.type))
        outputs.push_back(tensor);
  }
  if (outputs.size() != plan.modelOutputs(variant).size())
    die(options.expected + " does not hold the model's outputs");
  return outputs;
}

/// Returns |got - want| / |want| over all elements; NaN if an element is
/// unexpectedly NaN.
static double relativeError(const Tensor &got, const Tensor &want) {
  double difference = 0, norm = 0;
  for (uint64_t i = 0; i < want.count(); ++i) {
    double x = got.at(i), y = want.at(i);
    // Equal infinities would differ by NaN, and NaN may be expected.
    if (x != y && !(std::isnan(x) && std::isnan(y)))
      difference += (x - y) * (x - y);
    norm += std::isfinite(y) ? y * y : 0;
  }
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

/// Returns the emulated outputs, cut to the sizes that the counts give, and
/// then the state.
static std::vector<Tensor> outputsOf(const EmulatedPlan &emulated,
                                     size_t variant, const Sizes &sizes) {
  const PlanView &plan = emulated.plan();
  std::span<const artifact::Tensor> likes = plan.modelOutputs(variant);
  std::vector<Tensor> outputs;
  std::vector<Binding> bindings(likes.size());
  std::vector<int64_t> counts(plan.function().counts);
  for (size_t i = 0; i < counts.size(); ++i)
    memcpy(&counts[i], emulated.output(likes.size() + i), sizeof(int64_t));
  for (const artifact::Tensor &like : likes)
    outputs.push_back(tensorLike(plan, like, sizes));
  for (size_t i = 0; i < likes.size(); ++i) {
    bindings[i].dims = outputs[i].dims;
    bindings[i].counted = outputs[i].dims.data();
  }
  require(applyCounts(plan, variant, counts, bindings));
  for (size_t i = 0; i < likes.size(); ++i) {
    StridedRegion region = regionOf(plan, bindings[i], likes[i]);
    outputs[i].data.resize(region.runs() * region.runBytes());
    copyOutOf(region, emulated.output(i), outputs[i].data.data());
  }
  for (size_t i = 0; i < plan.states().size(); ++i) {
    Tensor tensor = stateTensor(plan, plan.states()[i]);
    memcpy(tensor.data.data(), emulated.stateTensor(i), tensor.data.size());
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

/// Returns a variant's inputs for a call: padded, followed by its true sizes.
static std::vector<std::vector<uint8_t>>
padInputs(const PlanView &plan, size_t variant, const Sizes &sizes,
          const std::vector<Tensor> &inputs) {
  std::vector<std::vector<uint8_t>> padded;
  for (const artifact::Tensor &like : plan.inputs(variant)) {
    std::vector<uint8_t> &data = padded.emplace_back(like.bytes);
    size_t index = padded.size() - 1;
    if (index >= inputs.size()) {
      memcpy(data.data(), &sizes[like.symbol], sizeof(int64_t));
      continue;
    }
    Binding binding;
    binding.dims = inputs[index].dims;
    copyInto(regionOf(plan, binding, like), inputs[index].data.data(),
             data.data(), like.bytes);
  }
  return padded;
}

/// Calls a variant, starting from the state of a new context or of --state.
static void runCalls(const Options &options, EmulatedPlan &emulated,
                     size_t variant, const std::vector<const void *> &inputs) {
  emulated.resetState();
  for (const auto &[index, state] : readState(options, emulated.plan()))
    emulated.setStateTensor(index, state.data.data());
  for (int call = 0; call < options.calls; ++call) {
    if (const float *number = changeBefore(options, call))
      emulated.setStateTensor(changedState(options, emulated.plan()), number);
    require(emulated.run(variant, inputs));
  }
}

/// Runs a variant on given or random inputs, and writes or compares its
/// outputs.
static bool runVariant(const Options &options, EmulatedPlan &emulated,
                       size_t variant, const Sizes &sizes) {
  const PlanView &plan = emulated.plan();
  std::vector<Tensor> inputs = makeInputs(options, plan, variant, sizes);
  std::vector<std::vector<uint8_t>> padded =
      padInputs(plan, variant, sizes, inputs);
  std::vector<const void *> pointers;
  for (const std::vector<uint8_t> &data : padded)
    pointers.push_back(data.data());
  if (!options.output.empty()) {
    emulated.setSeed(options.seeds);
    runCalls(options, emulated, variant, pointers);
    std::vector<Tensor> outputs = outputsOf(emulated, variant, sizes);
    if (Fault fault = isPlain(options.output)
                          ? writeBytes(options.output, outputs)
                          : writeTensors(options.output, outputs))
      die(fault.within(options.output).message());
    return true;
  }

  std::vector<Tensor> expected =
      options.expected.empty() ? runOnCpu(options, plan, variant, sizes, inputs)
                               : readExpected(options, plan, variant);
  bool agree = true;
  for (int seed = 1; seed <= options.seeds; ++seed) {
    emulated.setSeed(seed);
    runCalls(options, emulated, variant, pointers);
    std::vector<Tensor> outputs = outputsOf(emulated, variant, sizes);
    for (size_t i = 0; i < expected.size(); ++i) {
      const Tensor &got = outputs[i];
      if (got.type() != expected[i].type()) {
        printf("FAIL %s is %s, not %s\n", got.name.c_str(), got.type().c_str(),
               expected[i].type().c_str());
        agree = false;
        continue;
      }
      double error = relativeError(got, expected[i]);
      bool ok = error <= options.tolerance;
      agree &= ok;
      printf("%s %s %s: relative error %.2e, %zu steps, schedule %d\n",
             ok ? "ok  " : "FAIL", got.name.c_str(), got.type().c_str(), error,
             emulated.stepCount(), seed);
    }
  }
  return agree;
}

/// Returns the least sizes that a variant serves.
static Sizes leastSizes(const PlanView &plan, size_t variant) {
  Sizes least;
  for (size_t symbol = 0; symbol < plan.symbols().size(); ++symbol) {
    int64_t size = plan.sizes(variant)[symbol];
    least.push_back(size);
    if (!plan.symbols()[symbol].padded)
      continue;
    least.back() = std::min(size, plan.symbols()[symbol].least);
    for (size_t other = 0; other < plan.variants().size(); ++other)
      if (plan.sizes(other)[symbol] < size)
        least.back() = std::max(least.back(),
                                plan.sizes(other)[symbol] +
                                    int64_t(plan.symbols()[symbol].multiple));
  }
  return least;
}

int main(int argc, char **argv) {
  Options options = parseOptions(argc, argv);
  EmulatedPlan emulated;
  require(emulated.open(options.model, options.kernels, options.unit,
                        options.arch, options.function));
  bool agree = true;
  const PlanView &plan = emulated.plan();
  bool isGiven = !options.inputs.empty() || !options.expected.empty();
  for (size_t i = 0; i < plan.variants().size(); ++i) {
    Sizes sizes(plan.sizes(i).begin(), plan.sizes(i).end());
    agree &= runVariant(options, emulated, i, sizes);
    Sizes least = leastSizes(plan, i);
    if (least != sizes && !isGiven && options.output.empty())
      agree &= runVariant(options, emulated, i, least);
  }
  return !agree;
}
