//===- ChosenSampling.h - How the next token is chosen --------------------===//

#ifndef FRIT_TOOLS_FRIT_RUN_CHOSENSAMPLING_H
#define FRIT_TOOLS_FRIT_RUN_CHOSENSAMPLING_H

#include "Options.h"
#include "frit/generate.h"
#include "tools/support/Fault.h"

namespace frit::run {

/// Fills `sampling` by the options and, where these are left out, by "search"
/// of a genai_config.json beside the tokenizer. Fails if an option has no
/// effect on the most likely token.
tools::Fault chooseSampling(const Options &options, frit_sampling &sampling);

} // namespace frit::run

#endif // FRIT_TOOLS_FRIT_RUN_CHOSENSAMPLING_H
