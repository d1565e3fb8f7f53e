//===- Sampler.cpp - Samplers of diffusion models -------------------------===//

#include "compiler/transform/sampling/Sampler.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

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
  static constexpr StringRef methods[] = {"ddim", "flow", "euler", "dpm"};
  const auto *known = llvm::find(methods, method);
  if (known == std::end(methods))
    return samplerError("'" + method +
                        "' is no sampler; there are ddim, flow, euler and dpm");
  options.method = SamplerOptions::Method(known - methods);
  const bool isFlow = options.method == SamplerOptions::Method::flow,
             isDdim = options.method == SamplerOptions::Method::ddim,
             isDpm = options.method == SamplerOptions::Method::dpm;
  options.endsAtOne = !isDdim;
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
    else if (!isFlow && key == "spacing")
      error = readWord(key, value, {"leading", "linspace", "trailing"},
                       options.spacing);
    else if ((isDdim || isDpm) && key == "ends")
      error = readWord(key, value, {"first", "one"}, options.endsAtOne);
    else if (isDdim && key == "clip")
      error = readReal(key, value, 1e6, options.clip);
    else if (isDpm && key == "solver")
      error = readWord(key, value, {"midpoint", "heun"}, options.solvesByHeun);
    else
      error = samplerError(
          "'" + entry + "' is no setting of " + method + "; it has steps, " +
          "guidance, train-steps, sample, time" +
          (isFlow ? " and shift"
                  : ", predicts, betas, beta-start, beta-end, offset") +
          (isFlow   ? ""
           : isDdim ? ", spacing, ends and clip"
           : isDpm  ? ", spacing, ends and solver"
                    : " and spacing"));
    if (error)
      return error;
  }
  if (options.steps == 0)
    return samplerError("say how many steps it makes, as " + method +
                        ":steps=20");
  if (options.steps + isDpm > options.trainSteps)
    return samplerError("there are no " + Twine(options.steps) +
                        " steps among " + Twine(options.trainSteps) +
                        " of the training");
  if (double first = firstTime(options); first > double(options.trainSteps - 1))
    return samplerError("its first time, " + Twine(int64_t(first)) +
                        ", is beyond the " + Twine(options.trainSteps) +
                        " of the training; set offset=0");
  return options;
}
