//===- EvaluateOnly.cpp - Evaluate a model without training ---------------===//

#include "tools/frit-train/Evaluation.h"
#include "tools/support/Files.h"
#include "tools/support/JsonText.h"
#include "tools/support/Message.h"

using namespace frit::train;

static void print(const Options &options, const Model &model, uint64_t samples,
                  const Evaluated &result, Log &log, Fault &logFault) {
  Json line = {{"model", model.name()},
               {"device", model.device().device},
               {"samples", samples}};
  if (!options.initial.empty())
    line["weights"] = options.initial;
  result.addTo(line);
  logFault = log.write(line);
  if (options.json)
    puts(jsonText(line).c_str());
  else
    printf("%s, of %llu samples on %s\n", result.text().c_str(),
           (unsigned long long)samples, model.device().device);
}

int frit::train::evaluateOnly(const Options &options) {
  Model model(options);
  if (!model.open(0))
    return model.status();
  Dataset data;
  Log log;
  auto openAll = [&]() -> Fault {
    if (Fault fault =
            openSamples(data, options.evaluation, options.evaluationTokens,
                        model.evaluate, options.ignoredLabel))
      return fault;
    if (!data.count())
      return Fault("the data to evaluate on have no samples");
    if (!options.initial.empty())
      frit::protectInput(options.initial);
    if (Fault fault = checkOutputs({{"--log", options.log}}))
      return fault;
    return options.log.empty() ? Fault() : log.open(options.log);
  };
  if (Fault fault = openAll())
    return report(fault);
  std::optional<Evaluated> result;
  if (!model.loadWeights() || !evaluate(model, data, options, result))
    return model.status();
  Fault logFault;
  print(options, model, data.count(), *result, log, logFault);
  return report(logFault);
}
