//===- Options.h - Command line of frit-run -------------------------------===//

#ifndef FRIT_RUN_OPTIONS_H
#define FRIT_RUN_OPTIONS_H

#include "tools/support/Arguments.h"

#include <cstdint>
#include <string>
#include <vector>

namespace frit::run {

using namespace tools;

struct Options {
  std::string model;
  std::string function; ///< empty: the model's first
  std::string device;   ///< empty: the default
  std::string weights;
  std::vector<std::string> inputs;
  std::vector<std::string> shapes; ///< "batch=3"
  std::string output;
  uint32_t threads = 0;
  bool noGraph = false, noProgrammaticLaunch = false;
  bool noCublas = false, noCudnn = false;
  bool verbose = false, json = false;

  std::string compare;
  double rtol = 1e-4, atol = 1e-5;
  double l2 = -1; ///< if not negative, replaces rtol and atol

  bool bench = false;
  double warmup = 0.2, duration = 3; ///< seconds
  uint64_t iterations = 0;           ///< 0: as many as fit in `duration`
  bool noTransfers = false;

  bool timeReport = false;
  bool info = false;
  bool profile = false;
  std::string trace;
};

/// Parses the command line. Prints help, or an error.
Parsed parseOptions(int count, char **arguments, Options &options);

} // namespace frit::run

#endif // FRIT_RUN_OPTIONS_H
