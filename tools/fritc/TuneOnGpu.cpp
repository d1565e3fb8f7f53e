//===- TuneOnGpu.cpp - Time candidates on this machine's GPU --------------===//

#include "TuneOnGpu.h"

#include "frit/runtime.hpp"
#include "runtime/cuda/CudaSteps.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <random>

using namespace frit;
using Clock = std::chrono::steady_clock;

/// Duration of a round of queued calls. The best of several rounds is used,
/// since it is the least disturbed.
static constexpr double kRoundMicroseconds = 2000;
static constexpr int kRounds = 4;
/// Duration of the warm-up, and of the one long round of back-to-back calls
/// after it. kMostCalls bounds both if the device is much faster than
/// estimated.
static constexpr double kWarmMicroseconds = 100e3, kOnEndMicroseconds = 250e3;
static constexpr double kMostCalls = 1 << 16;
/// Period of the input data in bytes: generating all data would be slow.
static constexpr size_t kPeriodBytes = 8 * 131071;

llvm::Expected<std::string> TuneOnGpu::open() {
  Status status = gpu.open(0);
  if (!status.failed())
    status = gpu.retainContext();
  if (status.failed())
    return llvm::createStringError("tuning needs a GPU: " + status.message());
  std::string text = gpu.name;
  if (cuda::CublasLt cublas; cublas.load())
    text += ", cuBLASLt " + cuda::versionText(cublas.version);
  if (cuda::Cudnn cudnn; cudnn.load())
    text += ", cuDNN " + cuda::versionText(cudnn.version);
  return text;
}

/// Returns the algorithms of the first library step. The GPU's context is
/// current.
static std::vector<uint32_t> algorithmsOf(const PlanView &plan,
                                          const cuda::Gpu &gpu) {
  using artifact::StepKind;
  const artifact::Program &program = plan.programs(plan.targets()[0])[0];
  for (const artifact::Step &step : plan.steps(program.steps)) {
    if (step.kind == StepKind::gemm) {
      cuda::CublasLt cublas;
      if (!cublas.load() || !cublas.open())
        return {};
      auto call =
          cublas.prepare(plan.gemm(step), cuda::alignmentsOf(plan, step));
      return call ? call->algorithms() : std::vector<uint32_t>();
    }
    if (cuda::isForCudnn(step)) {
      cuda::Cudnn cudnn;
      if (!cudnn.load())
        return {};
      auto handles = cuda::CudnnHandles::of(cudnn, gpu.driver, gpu.context);
      auto handle = cuda::CudnnHandle::open(cudnn, *handles, gpu.driver);
      if (!handle)
        return {};
      auto call = step.kind == StepKind::conv
                      ? handle->prepare(plan.conv(step), /*zeros=*/0,
                                        cuda::alignmentsOf(plan, step))
                      : handle->prepare(plan.attention(step),
                                        cuda::alignmentsOf(plan, step));
      return call ? call->algorithms() : std::vector<uint32_t>();
    }
  }
  return {};
}

std::vector<uint32_t> TuneOnGpu::algorithms(const frit_image &image) {
  PlanView plan;
  if (PlanView::open(image, plan).failed())
    return {};
  cuda::ContextScope scope(gpu);
  return algorithmsOf(plan, gpu);
}

static llvm::Error failed(const Error &error) {
  return llvm::createStringError(error.message());
}

/// Fills `data` with floats spread evenly over [-1, 1], because power draw and
/// so clocks depend on the data; codes are any, other integers 0 or 1.
static void fill(std::vector<uint8_t> &data, frit_dtype dtype) {
  std::minstd_rand random(2);
  size_t size = std::max<size_t>(frit_dtype_size(dtype), 1);
  size_t period = std::min(data.size(), kPeriodBytes);
  for (size_t i = 0; i + size <= period; i += size) {
    uint32_t bits = uint32_t(random());
    // Each power of two below one is half as likely as the next.
    uint64_t below = std::countr_zero(uint32_t(random()) | 1u << 8);
    uint64_t value =
        dtype == FRIT_F16    ? (14 - below) << 10 | (bits & 0x83ff)
        : dtype == FRIT_BF16 ? (126 - below) << 7 | (bits & 0x807f)
        : dtype == FRIT_F32  ? (126 - below) << 23 | (bits & 0x807fffff)
        : dtype == FRIT_F64  ? (1022 - below) << 52 | bits
        : size == 1 && dtype != FRIT_BOOL && data.size() > 1 ? bits >> 8
                                                             : bits & 1;
    memcpy(data.data() + i, &value, size);
  }
  for (size_t i = period; i < data.size(); i += period)
    memcpy(data.data() + i, data.data(), std::min(period, data.size() - i));
}

llvm::Expected<double> TuneOnGpu::time(const frit_image &image, Pace pace) {
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = "cuda";
  Module module;
  if (Error error = Module::open(image, module, &options))
    return failed(error);
  Context context;
  if (Error error = Context::create(module, context))
    return failed(error);

  std::vector<std::vector<uint8_t>> memory;
  std::vector<frit_tensor> inputs;
  for (uint32_t i = 0; i < module.inputCount(); ++i) {
    memory.emplace_back(module.input(i).bytes);
    fill(memory.back(), module.input(i).dtype);
    inputs.push_back(module.bindInput(i, memory.back().data()));
  }
  if (Error error = context.run(inputs, {}))
    return failed(error);
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    inputs[i].data = frit_context_input_buffer(context.get(), i);
    inputs[i].location = FRIT_DEVICE;
  }

  // Microseconds per call over `calls` calls; negative after a failure.
  Error error;
  auto timeCalls = [&](unsigned calls) {
    Clock::time_point start = Clock::now();
    for (unsigned call = 0; call < calls && !error; ++call)
      error = context.runAsync(inputs, {});
    if (!error)
      error = context.synchronize();
    std::chrono::duration<double, std::micro> took = Clock::now() - start;
    return error ? -1 : took.count() / calls;
  };
  // The first call determines the number of calls per round.
  double perCall = timeCalls(1), best = 0;
  auto callsOf = [&](double microseconds, double most) {
    return unsigned(std::clamp(microseconds / perCall, 1.0, most));
  };
  if (pace == Pace::bursts) {
    unsigned calls = callsOf(kRoundMicroseconds, 64);
    for (int round = 0; round < kRounds && !error; ++round) {
      perCall = timeCalls(calls);
      best = round == 0 ? perCall : std::min(best, perCall);
    }
  } else {
    perCall = timeCalls(callsOf(kWarmMicroseconds, 64));
    perCall = timeCalls(callsOf(kWarmMicroseconds, kMostCalls));
    best = timeCalls(callsOf(kOnEndMicroseconds, kMostCalls));
  }
  if (error)
    return failed(error);
  return best;
}

bool TuneOnGpu::works() {
  cuda::ContextScope scope(gpu);
  return gpu.driver.streamSynchronize(nullptr) == cuda::kSuccess;
}
