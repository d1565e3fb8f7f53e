//===- Place.h - A process's rank in a run --------------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_RANKS_PLACE_H
#define FRIT_TOOLS_FRIT_TRAIN_RANKS_PLACE_H

#include "tools/support/Fault.h"

#include <cstdint>
#include <string>

namespace frit::train {

using namespace tools;

/// The place of a process among the ranks of a run.
struct Place {
  uint32_t rank = 0, size = 1;
  uint32_t local = 0;  ///< rank within this host
  std::string address; ///< of rank 0, if there are several ranks
  uint16_t port = 0;
};

/// Maximum ranks of a run.
inline constexpr uint32_t kMostRanks = 4096;

/// Reads this process's place from its launcher's environment: torchrun's RANK,
/// WORLD_SIZE and LOCAL_RANK, or the variables of Open MPI, of MPICH and Intel
/// MPI (PMI), or of srun; and MASTER_ADDR and MASTER_PORT. Without a launcher
/// there is one rank. Variables that say half of it are a fault.
Fault findPlace(Place &place);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_RANKS_PLACE_H
