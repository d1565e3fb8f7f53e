//===- Place.cpp - A process's rank in a run ------------------------------===//

#include "tools/frit-train/Place.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

using namespace frit::train;

namespace {
/// The environment variables of a launcher.
struct LauncherVariables {
  const char *rank, *size;
  std::initializer_list<const char *> local;
};
} // namespace

/// torchrun is first, because it also describes processes that an MPI or Slurm
/// has started.
static const LauncherVariables launchers[] = {
    {"RANK", "WORLD_SIZE", {"LOCAL_RANK"}},
    {"OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     {"OMPI_COMM_WORLD_LOCAL_RANK"}},
    {"PMI_RANK", "PMI_SIZE", {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"}},
    // A batch script has SLURM_PROCID too, but runs once. Only processes of
    // srun have the number of a step's tasks.
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", {"SLURM_LOCALID"}}};

static constexpr uint16_t kDefaultPort = 29500;

/// Returns a fault of the environment's variables.
static Fault wrongPlace(std::string message) {
  return Fault(std::move(message), kBadUsage);
}

/// Reads a numeric variable, at most `most`.
static Fault readNumber(const char *name, uint64_t most, uint32_t &number) {
  const char *text = getenv(name);
  uint64_t value = 0;
  const char *end = text + strlen(text);
  auto [last, fault] = std::from_chars(text, end, value);
  if (fault == std::errc() && last == end && value <= most) {
    number = uint32_t(value);
    return {};
  }
  return wrongPlace(std::string(name) + "='" + text +
                    "' is not a number from 0 to " + std::to_string(most));
}

static Fault readLauncher(const LauncherVariables &launcher, Place &place) {
  if (Fault fault = readNumber(launcher.size, kMostRanks, place.size))
    return fault;
  if (Fault fault = readNumber(launcher.rank, kMostRanks, place.rank))
    return fault;
  if (place.rank >= place.size)
    return wrongPlace(std::string(launcher.rank) + "=" +
                      std::to_string(place.rank) + " is no rank of " +
                      launcher.size + "=" + std::to_string(place.size));
  for (const char *local : launcher.local)
    if (getenv(local))
      return readNumber(local, kMostRanks, place.local);
  return {};
}

Fault frit::train::findPlace(Place &place) {
  for (const LauncherVariables &launcher : launchers)
    if (getenv(launcher.rank) && getenv(launcher.size)) {
      if (Fault fault = readLauncher(launcher, place))
        return fault;
      break;
    }
  // A rank without its number would train alone.
  uint32_t size = 1;
  if (place.size == 1 && getenv("WORLD_SIZE") && !getenv("RANK")) {
    if (Fault fault = readNumber("WORLD_SIZE", kMostRanks, size))
      return fault;
    if (size > 1)
      return wrongPlace("WORLD_SIZE=" + std::to_string(size) +
                        ", and RANK does not say which of them this is");
  }
  if (place.size == 1)
    return {};
  const char *address = getenv("MASTER_ADDR");
  if (!address || !*address)
    return wrongPlace("there are " + std::to_string(place.size) +
                      " ranks: MASTER_ADDR must name the host of rank 0");
  place.address = address;
  uint32_t port = kDefaultPort;
  if (getenv("MASTER_PORT"))
    if (Fault fault = readNumber("MASTER_PORT", 65534, port))
      return fault;
  // torchrun itself listens at the port.
  const char *agent = getenv("TORCHELASTIC_USE_AGENT_STORE");
  place.port = uint16_t(port + (agent && !strcmp(agent, "True")));
  return {};
}
