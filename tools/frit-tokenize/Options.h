//===- Options.h - Command line of frit-tokenize --------------------------===//

#ifndef FRIT_TOOLS_FRIT_TOKENIZE_OPTIONS_H
#define FRIT_TOOLS_FRIT_TOKENIZE_OPTIONS_H

#include "tools/support/Arguments.h"

#include <string>

namespace frit::tokenize {

struct Options {
  std::string tokenizer; ///< a path
  bool decodes = false;
  bool hasSpecials = true;
  bool streams = false;
  bool isJson = false;
  bool isChat = false;
  bool showsInfo = false;
};

tools::Parsed parseOptions(int count, char **arguments, Options &options);

} // namespace frit::tokenize

#endif // FRIT_TOOLS_FRIT_TOKENIZE_OPTIONS_H
