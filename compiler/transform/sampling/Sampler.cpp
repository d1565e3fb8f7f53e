//===- Sampler.cpp - Samplers of diffusion models -------------------------===//

#include "compiler/transform/sampling/Sampler.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using llvm::Error;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static Error samplerError(const Twine &why) {
  return llvm::createStringError("--sampler: " + why);
}

static Error readWhole(StringRef key, StringRef text, int64_t least,
                       int64_t most, int64_t &to) {
  if (text.getAsInteger(10, to) || to < least || to > most)
    return samplerError("'" + key + "=" + text + "' is no number from " +
                        Twine(least) + " to " + Twine(most));
  return Error::success();
}

static Error readReal(StringRef key, StringRef text, double most, double &to) {
  if (!text.getAsDouble(to) && to > 0 && to <= most)
    return Error::success();
  std::string limit;
  llvm::raw_string_ostream(limit) << llvm::format("%g", most);
  return samplerError("'" + key + "=" + text +
                      "' is no number above 0 and up to " + limit);
}

/// Reads one of several words, in the order of an enumeration.
template <class T>
static Error readWord(StringRef key, StringRef text, ArrayRef<StringRef> words,
                      T &to) {
  auto *found = llvm::find(words, text);
  if (found == words.end())
    return samplerError("'" + key + "=" + text + "' is not " +
                        llvm::join(words, " or "));
  to = T(found - words.begin());
  return Error::success();
}

llvm::Expected<SamplerOptions> frit::readSampler(StringRef text) {
  auto [method, rest] = text.split(':');
  SamplerOptions options;
  if (method == "flow")
    options.method = SamplerOptions::Method::flow;
  else if (method != "ddim")
    return samplerError("'" + method +
                        "' is no sampler; there are ddim and flow");
  const bool isFlow = options.method == SamplerOptions::Method::flow;
  SmallVector<StringRef> entries;
  rest.split(entries, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [key, value] = entry.split('=');
    Error error = Error::success();
    llvm::consumeError(std::move(error));
    if (key == "steps")
      error = readWhole(key, value, 1, 1000, options.steps);
    else if (key == "train-steps")
      error = readWhole(key, value, 1, 1000000, options.trainSteps);
    else if (key == "guidance")
      error = readReal(key, value, 1000, options.guidance);
    else if (key == "sample" || key == "time")
      (key == "time" ? options.time : options.sample) = value.str();
    else if (isFlow && key == "shift")
      error = readReal(key, value, 1000, options.shift);
    else if (!isFlow && key == "predicts")
      error = readWord(key, value, {"noise", "velocity", "sample"},
                       options.predicts);
    else if (!isFlow && key == "betas")
      error = readWord(key, value, {"linear", "scaled"}, options.scalesBetas);
    else if (!isFlow && key == "beta-start")
      error = readReal(key, value, 0.999, options.betaStart);
    else if (!isFlow && key == "beta-end")
      error = readReal(key, value, 0.999, options.betaEnd);
    else if (!isFlow && key == "offset")
      error = readWhole(key, value, 0, 1000, options.offset);
    else if (!isFlow && key == "ends")
      error = readWord(key, value, {"first", "one"}, options.endsAtOne);
    else
      error = samplerError(
          "'" + entry + "' is no setting of " + method + "; it has steps, " +
          "guidance, train-steps, sample, time" +
          (isFlow
               ? " and shift"
               : ", predicts, betas, beta-start, beta-end, offset and ends"));
    if (error)
      return error;
  }
  if (options.steps == 0)
    return samplerError("say how many steps it makes, as " + method +
                        ":steps=20");
  int64_t last = (options.steps - 1) * (options.trainSteps / options.steps) +
                 (isFlow ? 0 : options.offset);
  if (last >= options.trainSteps && options.steps <= options.trainSteps)
    return samplerError("its first time, " + Twine(last) + ", is beyond the " +
                        Twine(options.trainSteps) +
                        " of the training; set offset=0");
  if (options.steps > options.trainSteps)
    return samplerError("there are no " + Twine(options.steps) +
                        " steps among " + Twine(options.trainSteps) +
                        " of the training");
  return options;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

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

static SmallVector<SamplerStep> ddimSteps(const SamplerOptions &options) {
  std::vector<double> kept = keptVariance(options);
  int64_t stride = options.trainSteps / options.steps;
  SmallVector<SamplerStep> steps;
  for (int64_t i = options.steps; i-- > 0;) {
    int64_t time = i * stride + options.offset;
    int64_t next = time - stride;
    double variance = kept[time];
    double left = next >= 0           ? kept[next]
                  : options.endsAtOne ? 1.0
                                      : kept.front();
    // x = a · sample + s · noise, and after the step with the next a and s.
    double a = std::sqrt(variance), s = std::sqrt(1 - variance);
    double nextA = std::sqrt(left), nextS = std::sqrt(1 - left);
    SamplerStep step = {double(time), 0, 0};
    switch (options.predicts) {
    case SamplerOptions::Prediction::noise:
      step.keep = nextA / a;
      step.add = nextS - nextA * s / a;
      break;
    case SamplerOptions::Prediction::velocity:
      step.keep = nextA * a + nextS * s;
      step.add = nextS * a - nextA * s;
      break;
    case SamplerOptions::Prediction::sample:
      step.keep = nextS / s;
      step.add = nextA - nextS * a / s;
      break;
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

SmallVector<SamplerStep> frit::stepsOf(const SamplerOptions &options) {
  return options.method == SamplerOptions::Method::flow ? flowSteps(options)
                                                        : ddimSteps(options);
}
