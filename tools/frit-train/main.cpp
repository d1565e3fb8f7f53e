//===- main.cpp - frit-train: train with a compiled step ------------------===//

#include "compiler/driver/Interrupts.h"
#include "tools/frit-train/Launcher.h"
#include "tools/frit-train/Trainer.h"
#include "tools/support/Mapped.h"
#include "tools/support/Message.h"

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
  takePlace(options, place);
  Trainer trainer(options);
  return trainer.open() && trainer.run() ? kDone : trainer.status();
}

int main(int count, char **arguments) {
  frit::handleInterrupts();
  handleLostFiles();
  handleOutOfMemory();
  return finishOutput(runTool(count, arguments));
}
