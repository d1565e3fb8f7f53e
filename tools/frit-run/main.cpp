//===- main.cpp - frit-run: run, compare and time a compiled model --------===//

#include "Session.h"
#include "compiler/support/Interrupts.h"
#include "compiler/support/Stack.h"

using namespace frit;
using namespace frit::run;

/// Opens a model for --info, which must work on a machine that cannot run it.
static bool openForInfo(Session &session, Options &options) {
  frit_module_options quiet = moduleOptions(options);
  quiet.remark = nullptr;
  if (!options.device.empty())
    return session.openModule() &&
           (options.device == "none" || session.openContext());
  Error failed =
      frit::Module::load(options.model.c_str(), session.module, &quiet);
  if (!failed)
    failed = session.chooseFunction();
  if (!failed)
    failed = frit::Context::create(session.module, session.context);
  if (!failed)
    return session.checkOptions();
  options.device = "none";
  if (!session.openModule())
    return false;
  if (failed.status() != FRIT_NO_DEVICE)
    complain("note: it does not run here: " + failed.message());
  return true;
}

static int runTool(int count, char **arguments) {
  Options options;
  if (Parsed parsed = parseOptions(count, arguments, options);
      parsed != Parsed::run)
    return statusOf(parsed);
  Session session(options);
  if (options.info)
    return openForInfo(session, options) ? info(session) : session.status();
  if (options.generates())
    return session.openModule() ? generate(session) : session.status();
  if (!session.openModule() || !session.prepareTensors() ||
      !session.openContext())
    return session.status();
  if (options.bench)
    return bench(session);
  if (options.profile)
    return profile(session);
  if (!options.shadow.empty())
    return precision(session);
  return runOnce(session);
}

int main(int count, char **arguments) {
  startTimeReport();
  handleInterrupts();
  handleOutOfMemory();
  return runOnLargeStack(
      [&] { return finishOutput(runTool(count, arguments)); });
}
