//===- serve.cpp - Compiled models in a service ---------------------------===//
//
//   serve [--device=D] [--threads=N] [--seconds=S] [--tolerance=T] [--leak]
//         MODEL.so…
//   serve --calls [--device=D] MODEL.so
//   serve --fault=pointer|reset MODEL.so
//
// Runs models in N threads that share modules, open their own, and make invalid
// calls. Compares every result with the first one, and prints memory use over
// time: of the process on the host, of its modules, and what is free of the
// device, which other processes use too. --leak keeps one more context, which
// must be noticed. --calls measures a call's host time. --fault breaks the
// GPU's context and checks the effects on its modules and on one opened later.
//
//===----------------------------------------------------------------------===//

#include "ResidentMemory.h"
#include "ServeFault.h"
#include "ServedModel.h"

#include <chrono>
#include <cmath>
#include <thread>

using namespace frit::test;
using Clock = std::chrono::steady_clock;

namespace {
struct Options {
  std::string device;
  std::vector<std::string> models;
  int threads = 8;
  double seconds = 2;
  double tolerance = 1e-3;
  std::string fault;
  bool times = false, leak = false;
};
} // namespace

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns the maximum difference of results, relative to the largest value.
/// Libraries may add in another order from context to context. Infinite for NaN
/// and for differences in types other than f32.
static double distance(const Arrays &a, const Arrays &b) {
  double distance = 0;
  for (size_t i = 0; i < a.memory.size(); ++i) {
    if (a.memory[i] == b.memory[i])
      continue;
    if (a.tensors[i].dtype != FRIT_F32)
      return INFINITY;
    auto *x = reinterpret_cast<const float *>(a.memory[i].data());
    auto *y = reinterpret_cast<const float *>(b.memory[i].data());
    size_t count = a.memory[i].size() / sizeof(float);
    float most = 0;
    for (size_t k = 0; k < count; ++k)
      most = std::max(most, std::fabs(y[k]));
    for (size_t k = 0; k < count; ++k) {
      double apart = double(std::fabs(x[k] - y[k])) / double(most);
      distance = apart <= distance   ? distance
                 : std::isnan(apart) ? INFINITY
                                     : apart;
    }
  }
  return distance;
}

static frit_device_info deviceOf(const ServedModel &model) {
  frit_device_info info;
  if (frit_module_device(model.module, &info))
    stop("describe the device");
  return info;
}

/// Returns whether a model opened on `device` runs on a GPU.
static bool runsOnGpu(const std::string &path, const std::string &device) {
  ServedModel model;
  if (model.open(path, device))
    stop(path.c_str());
  return strncmp(deviceOf(model).device, "cuda", 4) == 0;
}

//===----------------------------------------------------------------------===//
// Many threads
//===----------------------------------------------------------------------===//

static constexpr int kSeeds = 3;
static constexpr int kCallsOfContext = 20;

static int serve(const Options &options) {
  size_t count = options.models.size();
  CountedMemory memory(runsOnGpu(options.models[0], options.device));
  std::vector<ServedModel> shared(count);
  std::vector<std::vector<Arrays>> inputs(count), expected(count);
  for (size_t m = 0; m < count; ++m) {
    frit_context *context = nullptr;
    if (shared[m].open(options.models[m], options.device, &memory) ||
        frit_context_create(shared[m].module, &context))
      stop(options.models[m].c_str());
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      inputs[m].push_back(makeInputs(shared[m].module, seed));
      expected[m].push_back(makeOutputs(shared[m].module));
      if (run(context, inputs[m][seed], expected[m][seed]))
        stop(options.models[m].c_str());
    }
    frit_context_destroy(context);
  }

  std::atomic<bool> over = false;
  std::atomic<size_t> calls = 0, failures = 0, differences = 0;
  std::vector<std::atomic<double>> most(count); // distances
  auto work = [&](size_t number) {
    for (size_t round = number; !over; ++round) {
      size_t m = round % count;
      ServedModel own;
      frit_module *module = shared[m].module;
      if (number % 4 == 3) {
        failures +=
            own.open(options.models[m], options.device, &memory) != FRIT_OK;
        module = own.module;
      }
      frit_context *context = nullptr;
      if (!module || frit_context_create(module, &context)) {
        ++failures;
        fprintf(stderr, "serve: %s\n", frit_last_error());
        continue;
      }
      Arrays outputs = makeOutputs(module);
      for (int i = 0; i < kCallsOfContext && !over; ++i) {
        size_t seed = (number + size_t(i)) % kSeeds;
        if (run(context, inputs[m][seed], outputs)) {
          ++failures;
          fprintf(stderr, "serve: %s\n", frit_last_error());
        } else {
          double apart = distance(outputs, expected[m][seed]);
          if (apart > most[m])
            most[m] = apart;
          if (apart > options.tolerance && !differences++)
            fprintf(stderr, "serve: %s, seed %zu, call %d of %s context: %g\n",
                    options.models[m].c_str(), seed, i,
                    own.module ? "an own module's" : "a shared module's",
                    apart);
        }
        // An invalid call is an error of its thread only.
        failures += frit_run(context, nullptr, 0, nullptr, 0) == FRIT_OK;
        ++calls;
      }
      frit_context_destroy(context);
    }
  };
  const uint64_t before = memory.bytes();
  Clock::time_point start = Clock::now();
  std::vector<std::thread> threads;
  for (int number = 0; number < options.threads; ++number)
    threads.emplace_back(work, size_t(number));
  size_t early = 0, late = 0;
  auto show = [&] {
    late = residentBytes();
    printf(
        "%7.1f s  %9zu calls  %zu failures  %zu differences  host %zu KiB  "
        "modules %llu KiB  device %llu MiB free\n",
        secondsSince(start), calls.load(), failures.load(), differences.load(),
        late >> 10, static_cast<unsigned long long>(memory.bytes() >> 10),
        static_cast<unsigned long long>(deviceOf(shared[0]).free_bytes >> 20));
    fflush(stdout);
  };
  for (int tenth = 1; tenth <= 10; ++tenth) {
    std::this_thread::sleep_for(
        std::chrono::duration<double>(options.seconds / 10));
    show();
    if (tenth == 3)
      early = late;
  }
  over = true;
  for (std::thread &thread : threads)
    thread.join();
  frit_context *kept = nullptr;
  if (options.leak && frit_context_create(shared[0].module, &kept))
    stop("leak a context");
  show();
  // A leak of the host's memory in each call or context would exceed this.
  bool grew = late > early + (64 << 20);
  if (grew)
    printf("the process's memory grew\n");
  // Contexts and modules of the threads are gone.
  if (memory.bytes() != before) {
    printf("modules hold %llu bytes, before the calls %llu\n",
           static_cast<unsigned long long>(memory.bytes()),
           static_cast<unsigned long long>(before));
    grew = true;
  }
  frit_context_destroy(kept);
  for (size_t m = 0; m < count; ++m)
    printf("%s: results differ by %.1e at most\n", options.models[m].c_str(),
           most[m].load());
  bool good = !failures && !differences && !grew && calls;
  printf("%s\n", good ? "served" : "FAILED");
  return !good;
}

//===----------------------------------------------------------------------===//
// Time of a call
//===----------------------------------------------------------------------===//

/// Returns the minimum microseconds of one of `count` calls in a row, over 20
/// rows.
template <typename Call> static double microseconds(int count, Call call) {
  double best = 1e9;
  for (int row = 0; row < 20; ++row) {
    Clock::time_point start = Clock::now();
    for (int i = 0; i < count; ++i)
      call();
    best = std::min(best, secondsSince(start) / count);
  }
  return best * 1e6;
}

static int showTimes(const Options &options) {
  ServedModel model;
  frit_context *context = nullptr;
  if (model.open(options.models[0], options.device) ||
      frit_context_create(model.module, &context))
    stop(options.models[0].c_str());
  Arrays inputs = makeInputs(model.module, 1);
  Arrays outputs = makeOutputs(model.module);
  if (run(context, inputs, outputs))
    stop("call");
  printf("C: frit_run of host memory %.2f us\n",
         microseconds(200, [&] { run(context, inputs, outputs); }));
  for (size_t i = 0; i < inputs.tensors.size(); ++i) {
    inputs.tensors[i].data = frit_context_input_buffer(context, uint32_t(i));
    inputs.tensors[i].location = FRIT_DEVICE;
  }
  for (size_t i = 0; i < outputs.tensors.size(); ++i) {
    outputs.tensors[i].data = frit_context_output_buffer(context, uint32_t(i));
    outputs.tensors[i].location = FRIT_DEVICE;
  }
  printf("C: frit_run of device memory %.2f us\n",
         microseconds(200, [&] { run(context, inputs, outputs); }));
  auto enqueue = [&] {
    if (frit_run_async(context, inputs.tensors.data(),
                       uint32_t(inputs.tensors.size()), outputs.tensors.data(),
                       uint32_t(outputs.tensors.size())))
      stop("call");
  };
  // This few calls fit in the queue.
  printf("C: frit_run_async %.2f us\n", microseconds(20, [&] { enqueue(); }));
  frit_context_synchronize(context);
  frit_context_destroy(context);
  return 0;
}

int main(int count, char **arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    std::string argument = arguments[i];
    size_t equal = argument.find('=');
    std::string name = argument.substr(0, equal);
    std::string value =
        equal == std::string::npos ? "" : argument.substr(equal + 1);
    if (name == "--device")
      options.device = value;
    else if (name == "--threads")
      options.threads = atoi(value.c_str());
    else if (name == "--seconds")
      options.seconds = atof(value.c_str());
    else if (name == "--tolerance")
      options.tolerance = atof(value.c_str());
    else if (name == "--fault")
      options.fault = value;
    else if (name == "--leak")
      options.leak = true;
    else if (name == "--calls")
      options.times = true;
    else
      options.models.push_back(argument);
  }
  if (options.models.empty()) {
    fprintf(stderr, "serve: name compiled models\n");
    return 2;
  }
  if (!options.fault.empty())
    return breakDevice(options.models[0], options.fault == "reset");
  return options.times ? showTimes(options) : serve(options);
}
