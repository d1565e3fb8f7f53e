//===- Launcher.h - Starts the ranks of one host --------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_RANKS_LAUNCHER_H
#define FRIT_TOOLS_FRIT_TRAIN_RANKS_LAUNCHER_H

#include "tools/frit-train/Options.h"

namespace frit::train {

/// Starts this program once for each of `options.devices`, with the rest of the
/// command line, and waits for all of them. Forwards signals. If one rank
/// fails, ends the others. Returns the exit status of the first rank that
/// failed.
int launchRanks(const Options &options, int count, char **arguments);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_RANKS_LAUNCHER_H
