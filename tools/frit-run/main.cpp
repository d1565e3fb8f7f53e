//===- main.cpp - frit-run: run, compare and time a compiled model --------===//

#include "Session.h"

using namespace frit;
using namespace frit::run;

/// Describing a model must work where it cannot run.
static bool openForInfo(Session &session, Options &options) {
  frit_module_options quiet = FRIT_MODULE_OPTIONS_INIT;
  quiet.device = options.device.c_str();
  if (!options.device.empty())
    return session.openModule() &&
           (options.device == "none" || session.openContext());
  Error failed =
      frit::Module::load(options.model.c_str(), session.module, &quiet);
  if (!failed)
    failed = frit::Context::create(session.module, session.context);
  if (!failed)
    return true;
  options.device = "none";
  if (!session.openModule())
    return false;
  if (failed.status() != FRIT_NO_DEVICE)
    complain("note: it does not run here: " + failed.message());
  return true;
}

int main(int count, char **arguments) {
  startTimeReport();
  Options options;
  switch (parseOptions(count, arguments, options)) {
  case Parsed::run:
    break;
  case Parsed::helped:
    return 0;
  case Parsed::wrong:
    return 2;
  }
  Session session(options);
  if (options.info)
    return openForInfo(session, options) ? info(session) : 1;
  if (!session.openModule() || !session.prepareTensors() ||
      !session.openContext())
    return 1;
  if (options.bench)
    return bench(session);
  if (options.profile)
    return profile(session);
  return runOnce(session);
}
