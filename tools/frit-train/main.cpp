//===- main.cpp - frit-train: train with a compiled step ------------------===//

#include "compiler/support/Interrupts.h"
#include "compiler/support/Stack.h"
#include "tools/frit-train/Evaluation.h"
#include "tools/frit-train/Trainer.h"
#include "tools/frit-train/ranks/Launcher.h"
#include "tools/support/Mapped.h"
#include "tools/support/Message.h"

#include <memory>

using namespace frit::train;

static int runTool(int count, char **arguments) {
  Options options;
  if (Parsed parsed = parseOptions(count, arguments, options);
      parsed != Parsed::run)
    return statusOf(parsed);
  if (!options.devices.empty())
    return launchRanks(options, count, arguments);
  Place place;
  if (Fault fault = findPlace(place))
    return report(fault);
  if (options.isEvaluation && place.size > 1)
    return report(
        Fault("--evaluate runs on one device: start one process", kBadUsage));
  if (options.isEvaluation)
    return checkRanks(options) ? evaluateOnly(options) : int(kBadUsage);
  takePlace(options, place);
  if (!checkRanks(options))
    return kBadUsage;
  auto trainer = std::make_unique<Trainer>(options);
  if (trainer->open() && trainer->run())
    return kDone;
  int status = trainer->status();
  std::optional<Search> search = trainer->search();
  trainer.reset();
  if (search)
    if (Trainer again(search->options); again.open())
      (void)again.find(search->step);
  return status;
}

int main(int count, char **arguments) {
  frit::handleInterrupts();
  handleLostFiles();
  handleOutOfMemory();
  return frit::runOnLargeStack(
      [&] { return finishOutput(runTool(count, arguments)); });
}
