//===- Options.h - Command line of frit-doctor ----------------------------===//

#ifndef FRIT_TOOLS_FRIT_DOCTOR_OPTIONS_H
#define FRIT_TOOLS_FRIT_DOCTOR_OPTIONS_H

#include "tools/support/Arguments.h"

#include <string>
#include <vector>

namespace frit::doctor {

struct Options {
  bool json = false;
  std::vector<std::string> needs; ///< parts that must work
};

tools::Parsed parseOptions(int count, char **arguments, Options &options);

} // namespace frit::doctor

#endif // FRIT_TOOLS_FRIT_DOCTOR_OPTIONS_H
