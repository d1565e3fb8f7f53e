//===- SamplerSteps.cpp - The numbers of samplers' steps ------------------===//
//
// With what is left of the sample's variance, kept, a time has the signal
// a = sqrt(kept), the noise s = sqrt(1 - kept), and sigma = s / a. Samples have
// variance 1 in all methods: diffusers' Euler scales them by sqrt(1 + sigma²),
// and divides by that before each call of the model.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/sampling/Sampler.h"

#include "mlir/Support/LLVM.h"

#include <cmath>
#include <vector>

using namespace mlir;
using namespace frit;
using Method = SamplerOptions::Method;
using Prediction = SamplerOptions::Prediction;
using Spacing = SamplerOptions::Spacing;

static double between(double from, double to, int64_t i, int64_t count) {
  return count == 1 ? from : from + (to - from) * double(i) / double(count - 1);
}

/// Returns, for each time, what is left of the sample's variance.
static std::vector<double> keptVariance(const SamplerOptions &options) {
  std::vector<double> kept(options.trainSteps);
  double product = 1;
  for (int64_t i = 0; i < options.trainSteps; ++i) {
    double beta = options.scalesBetas
                      ? std::pow(between(std::sqrt(options.betaStart),
                                         std::sqrt(options.betaEnd), i,
                                         options.trainSteps),
                                 2)
                      : between(options.betaStart, options.betaEnd, i,
                                options.trainSteps);
    kept[i] = product *= 1 - beta;
  }
  return kept;
}

/// Returns the times of all steps, in order. They may be beyond the training.
static std::vector<double> timesOf(const SamplerOptions &options) {
  const int64_t steps = options.steps, train = options.trainSteps;
  // DPM-Solver++ divides the training by one more, and leaves out the last.
  const int64_t parts = steps + (options.method == Method::dpm);
  std::vector<double> times;
  for (int64_t i = 0; i < steps; ++i) {
    int64_t left = parts - 1 - i;
    switch (options.spacing) {
    case Spacing::leading:
      times.push_back(double(left * (train / parts) + options.offset));
      break;
    case Spacing::even: {
      double time = parts == 1 ? 0 : between(0, double(train - 1), left, parts);
      times.push_back(options.method == Method::euler ? time
                                                      : std::nearbyint(time));
      break;
    }
    case Spacing::trailing:
      times.push_back(std::nearbyint(double(train) - double(i) * double(train) /
                                                         double(steps)) -
                      1);
      break;
    }
  }
  return times;
}

namespace {
/// Signal and noise of a sample of variance 1.
struct Level {
  double a, s;
  double sigma() const { return s / a; }
  double lambda() const { return std::log(a / s); }
};
} // namespace

static Level levelOf(double kept) {
  return {std::sqrt(kept), std::sqrt(1 - kept)};
}

/// Returns the level at a time, between those of the training by their sigmas.
static Level levelAt(ArrayRef<double> kept, double time) {
  auto first = int64_t(time);
  int64_t next = std::min<int64_t>(first + 1, int64_t(kept.size()) - 1);
  double low = levelOf(kept[first]).sigma(), high = levelOf(kept[next]).sigma();
  double sigma = low + (high - low) * (time - double(first));
  double a = 1 / std::sqrt(1 + sigma * sigma);
  return {a, sigma * a};
}

/// Sets how the sample without noise follows from what the model says:
/// fromSample · x + fromSaid · said.
static void predictClean(SamplerStep &step, Prediction predicts, Level now) {
  step.fromSample = predicts == Prediction::noise      ? 1 / now.a
                    : predicts == Prediction::velocity ? now.a
                                                       : 0;
  step.fromSaid = predicts == Prediction::noise      ? -now.s / now.a
                  : predicts == Prediction::velocity ? -now.s
                                                     : 1;
}

/// A step along the line from the sample through the clean one: DDIM's, and
/// Euler's. The noise is that of the unclipped prediction.
static SamplerStep straightStep(const SamplerOptions &options, double time,
                                Level now, Level next) {
  SamplerStep step = {time, 0, 0};
  predictClean(step, options.predicts, now);
  // noise = (x - a · clean) / s
  double ofSample = (1 - now.a * step.fromSample) / now.s,
         ofSaid = -now.a * step.fromSaid / now.s;
  step.keep = next.s * ofSample;
  step.add = next.s * ofSaid;
  step.clean = next.a;
  if (options.clip == 0) {
    step.keep += step.clean * step.fromSample;
    step.add += step.clean * step.fromSaid;
    step.clean = 0;
  }
  return step;
}

static SmallVector<SamplerStep> straightSteps(const SamplerOptions &options) {
  std::vector<double> kept = keptVariance(options), times = timesOf(options);
  int64_t stride = options.trainSteps / options.steps;
  Level last = options.endsAtOne ? Level{1, 0} : levelOf(kept.front());
  SmallVector<SamplerStep> steps;
  for (auto [i, time] : llvm::enumerate(times)) {
    Level next = last;
    if (options.method == Method::euler) {
      if (i + 1 < times.size())
        next = levelAt(kept, times[i + 1]);
    } else if (int64_t(time) >= stride) {
      next = levelOf(kept[int64_t(time) - stride]);
    }
    steps.push_back(straightStep(options, time, levelAt(kept, time), next));
  }
  // Euler's noise has the largest sigma; only with leading times the model sees
  // it with a variance of 1.
  if (options.method == Method::euler && options.spacing != Spacing::leading)
    steps.front().scale = levelAt(kept, times.front()).s;
  return steps;
}

/// DPM-Solver++(2M): the clean sample of the step before makes it second order.
static SmallVector<SamplerStep> multiSteps(const SamplerOptions &options) {
  std::vector<double> kept = keptVariance(options), times = timesOf(options);
  std::vector<Level> levels;
  for (double time : times)
    levels.push_back(levelAt(kept, time));
  levels.push_back(options.endsAtOne ? Level{1, 0} : levelOf(kept.front()));
  const size_t count = times.size();
  constexpr size_t fewSteps = 15;
  SmallVector<SamplerStep> steps;
  for (size_t i = 0; i < count; ++i) {
    Level now = levels[i], next = levels[i + 1];
    SamplerStep step = {times[i], next.s / now.s, 0};
    predictClean(step, options.predicts, now);
    bool endsSimply = i + 1 == count && (options.endsAtOne || count < fewSteps);
    // exp(-h) - 1, where h is how much λ = log(a / s) grows.
    double decay = next.sigma() / now.sigma() - 1;
    step.clean = -next.a * decay;
    if (i > 0 && !endsSimply) {
      double h = next.lambda() - now.lambda(),
             ratio = (now.lambda() - levels[i - 1].lambda()) / h;
      double slope = options.solvesByHeun ? next.a * (decay / h + 1)
                                          : -0.5 * next.a * decay;
      step.clean += slope / ratio;
      step.before = -slope / ratio;
    }
    steps.push_back(step);
  }
  return steps;
}

static SmallVector<SamplerStep> flowSteps(const SamplerOptions &options) {
  auto shifted = [&](double sigma) {
    return options.shift * sigma / (1 + (options.shift - 1) * sigma);
  };
  double count = double(options.trainSteps);
  SmallVector<double> sigmas;
  for (int64_t i = 0; i < options.steps; ++i)
    sigmas.push_back(shifted(between(1, shifted(1 / count), i, options.steps)));
  sigmas.push_back(0);
  SmallVector<SamplerStep> steps;
  for (int64_t i = 0; i < options.steps; ++i)
    steps.push_back({sigmas[i] * count, 1, sigmas[i + 1] - sigmas[i]});
  return steps;
}

double frit::firstTime(const SamplerOptions &options) {
  return options.method == Method::flow ? 0 : timesOf(options).front();
}

SmallVector<SamplerStep> frit::stepsOf(const SamplerOptions &options) {
  switch (options.method) {
  case Method::flow:
    return flowSteps(options);
  case Method::dpm:
    return multiSteps(options);
  case Method::ddim:
  case Method::euler:
    return straightSteps(options);
  }
  llvm_unreachable("no such method");
}
