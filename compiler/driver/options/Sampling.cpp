//===- Sampling.cpp - The sampler of a model of diffusion -----------------===//

#include "compiler/driver/options/CommandLine.h"
#include "compiler/driver/options/SamplerConfig.h"
#include "compiler/support/OutputFile.h"

#include "compiler/transform/sampling/Sampler.h"

using namespace frit;
using llvm::StringRef;

bool CommandLine::readSampling() {
  options.sampler = args.getLastArgValue(OPT_sampler_EQ).str();
  if (options.sampler.empty())
    return !args.hasArg(OPT_sampler_EQ) ||
           wrong("--sampler= names no sampler, as ddim:steps=20 does");
  // FILE.json, or FILE.json:steps=20,…
  StringRef text = options.sampler;
  if (size_t at = text.rfind(".json"); at != StringRef::npos) {
    auto [end, settings] = text.substr(at).split(':');
    std::string path = text.take_front(at).str() + end.str();
    protectInput(path);
    auto read = readSamplerConfig(path, settings);
    if (!read)
      return wrong("--sampler: " + llvm::toString(read.takeError()), kBadInput);
    options.sampler = std::move(*read);
  }
  auto sampler = readSampler(options.sampler);
  if (!sampler)
    return wrong(llvm::toString(sampler.takeError()));
  if (options.inputs.size() > 1 || !options.trainingFile.empty() ||
      options.emit == Emit::json)
    return wrong("--sampler takes one model, without --train and --emit=json");
  for (const ModelInput &input : options.inputs) {
    if (input.isDecoder || input.hasCaches)
      return wrong("--sampler is for models of diffusion, and '" + input.path +
                   "' is a language model");
    if (sampler->guidance != 0 && !input.openSymbols.empty())
      return wrong("--sampler with guidance takes fixed sizes, as the model's "
                   "batch is twice the sampler's; give each with -fshape");
  }
  return true;
}
