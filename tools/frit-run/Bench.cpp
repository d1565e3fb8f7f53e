//===- Bench.cpp - Time calls ---------------------------------------------===//
//
// With transfers, a sample is one call from host memory to host memory.
// Without, it is the mean of a batch of calls queued back to back on the
// device, long enough that waiting for its end does not matter.
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "compiler/support/Progress.h"
#include "frit/printable.h"
#include "tools/support/JsonText.h"
#include "tools/support/Table.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

using namespace frit;
using namespace frit::run;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

/// Duration of a batch of queued calls. Waiting for its end takes some 8 us.
static constexpr double kBatchSeconds = 20e-3;
static constexpr uint64_t kLargestBatch = 256;

namespace {
/// Runs calls and measures seconds per call.
class Timer {
public:
  /// Prepares calls. With `stay`, inputs and outputs stay in the memory of a
  /// GPU.
  Timer(Session &session, bool stay);

  /// Returns seconds per call over `batch` calls; negative after a failure.
  double sample(uint64_t batch);

  bool onDevice;

private:
  Session &session;
  std::vector<frit_tensor> inputs, outputs;
};
} // namespace

Timer::Timer(Session &session, bool stay)
    : session(session), inputs(session.bindInputs()),
      outputs(session.bindOutputs()) {
  frit_context *context = session.context.get();
  // The CPU needs no transfers.
  onDevice = stay && frit_context_stream(context);
  if (!onDevice)
    return;
  auto move = [](frit_tensor &tensor, void *own) {
    tensor.data = own;
    tensor.location = FRIT_DEVICE;
  };
  // The first call has copied the inputs into the context's buffers.
  for (uint32_t i = 0; i < inputs.size(); ++i)
    move(inputs[i], frit_context_input_buffer(context, i));
  for (uint32_t i = 0; i < outputs.size(); ++i)
    move(outputs[i], frit_context_output_buffer(context, i));
}

double Timer::sample(uint64_t batch) {
  Clock::time_point start = Clock::now();
  if (onDevice) {
    for (uint64_t call = 0; call < batch; ++call)
      if (Error error = session.context.runAsync(inputs, outputs)) {
        session.failed(error);
        return -1;
      }
    if (Error error = session.context.synchronize()) {
      session.failed(error);
      return -1;
    }
  } else if (Error error = session.context.run(inputs, outputs)) {
    session.failed(error);
    return -1;
  }
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return onDevice ? seconds / double(batch) : seconds;
}

static double quantile(const std::vector<double> &sorted, double part) {
  double at = part * double(sorted.size() - 1);
  size_t low = size_t(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - double(low));
}

double frit::run::timeCalls(Session &session) {
  Timer timer(session, /*stay=*/true);
  double first = timer.sample(1);
  if (first < 0)
    return first;
  uint64_t batch = std::clamp<uint64_t>(
      uint64_t(kBatchSeconds / std::max(first, 1e-9)), 1, kLargestBatch);
  return timer.sample(batch);
}

int frit::run::bench(Session &session) {
  const Options &options = session.options;
  if (!session.run())
    return session.status();
  std::optional<Progress> progress(std::in_place, "time " + options.model);
  Timer timer(session, options.noTransfers);
  Clock::time_point start = Clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double perCall = 0;
  do {
    perCall = timer.sample(1);
    if (perCall < 0)
      return session.status();
  } while (elapsed() < options.warmup);

  uint64_t batch = 1;
  if (timer.onDevice)
    batch = std::clamp<uint64_t>(uint64_t(kBatchSeconds / perCall), 1,
                                 kLargestBatch);
  std::vector<double> times;
  uint64_t runs = 0;
  start = Clock::now();
  while (options.iterations ? runs < options.iterations
                            : elapsed() < options.duration || times.empty()) {
    if (options.iterations)
      batch = std::min(batch, options.iterations - runs);
    double seconds = timer.sample(batch);
    if (seconds < 0)
      return session.status();
    times.push_back(seconds * 1e3);
    runs += timer.onDevice ? batch : 1;
    progress->update(0, 0, std::to_string(runs) + " calls");
  }
  double total = elapsed();
  progress.reset();
  std::ranges::sort(times);
  double median = quantile(times, 0.5), p10 = quantile(times, 0.1),
         p90 = quantile(times, 0.9);

  frit_device_info device = session.module.device();
  std::string target;
  for (uint32_t i = 0; i < session.module.targetCount(); ++i)
    if (session.module.target(i).chosen)
      target = session.module.target(i).arch;
  if (options.json) {
    Json result = {{"model", session.module.name()},
                   {"ms", median},
                   {"p10", p10},
                   {"p90", p90},
                   {"min", times.front()},
                   {"runs", runs},
                   {"transfers", !options.noTransfers},
                   {"device", device.device},
                   {"device_name", device.name},
                   {"target", target}};
    puts(jsonText(result).c_str());
    return 0;
  }
  printf("%s on %s (%s), %s\n", printable(session.module.name()).c_str(),
         device.device, device.name, target.c_str());
  Table table({">median", ">p10", ">p90", ">min", ">calls", ">calls/s"});
  table.add({formatTime(median), formatTime(p10), formatTime(p90),
             formatTime(times.front()), std::to_string(runs),
             text("%.1f", double(runs) / total)});
  table.print();
  return 0;
}
