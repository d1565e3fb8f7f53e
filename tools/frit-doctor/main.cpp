//===- main.cpp - frit-doctor: check this machine for frit ----------------===//

#include "compiler/support/Interrupts.h"
#include "compiler/support/Stack.h"
#include "tools/frit-doctor/Options.h"
#include "tools/frit-doctor/Report.h"
#include "tools/support/ExitStatus.h"
#include "tools/support/Message.h"

using namespace frit::doctor;
using namespace frit::tools;

static bool works(const Machine &machine, const std::string &part) {
  if (part == "cuda")
    return machine.runsOnGpu();
  const Finding *finding = machine.find(part);
  return finding && finding->verdict == Verdict::good;
}

static int runTool(int count, char **arguments) {
  Options options;
  switch (parseOptions(count, arguments, options)) {
  case Parsed::run:
    break;
  case Parsed::helped:
    return kDone;
  case Parsed::wrong:
    return kBadUsage;
  }
  Machine machine;
  machine.examine();
  std::vector<std::string> unmet;
  for (const std::string &part : options.needs)
    if (!works(machine, part))
      unmet.push_back(part);
  (options.json ? printJson : printText)(machine, unmet);
  return machine.isSound() && unmet.empty() ? kDone : kBadInput;
}

int main(int count, char **arguments) {
  frit::handleInterrupts();
  return frit::runOnLargeStack(
      [&] { return finishOutput(runTool(count, arguments)); });
}
