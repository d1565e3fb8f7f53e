//===- Place.cpp - A process's rank in a run ------------------------------===//

#include "tools/frit-train/ranks/Place.h"
#include "tools/support/Message.h"

#include <algorithm>
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

static constexpr const char *kSlurmRank = "SLURM_PROCID";

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
    {kSlurmRank, "SLURM_STEP_NUM_TASKS", {"SLURM_LOCALID"}}};

static constexpr uint16_t kDefaultPort = 29500;

/// Returns a fault of the environment's variables.
static Fault wrongPlace(std::string message) {
  return Fault(std::move(message), kBadUsage);
}

/// Reads a numeric variable, from `least` to `most`.
static Fault readNumber(const char *name, uint64_t most, uint32_t &number,
                        uint64_t least = 0) {
  const char *text = getenv(name);
  uint64_t value = 0;
  const char *end = text + strlen(text);
  auto [last, fault] = std::from_chars(text, end, value);
  if (fault == std::errc() && last == end && least <= value && value <= most) {
    number = uint32_t(value);
    return {};
  }
  return wrongPlace(std::string(name) + "='" + text +
                    "' is not a number from " + std::to_string(least) + " to " +
                    std::to_string(most));
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

/// Reports that a launcher has set only one of its variables: the process would
/// train alone. A batch script of Slurm is rank 0 of no size.
static Fault checkHalf(const LauncherVariables &launcher) {
  bool hasRank = getenv(launcher.rank), hasSize = getenv(launcher.size);
  if (hasRank == hasSize)
    return {};
  const char *given = hasRank ? launcher.rank : launcher.size;
  uint32_t number = 0;
  if (Fault fault = readNumber(given, kMostRanks, number))
    return fault;
  bool isAlone = hasRank ? !number && !strcmp(given, kSlurmRank) : number <= 1;
  if (isAlone)
    return {};
  return wrongPlace(std::string(given) + "=" + std::to_string(number) +
                    ", and " + (hasRank ? launcher.size : launcher.rank) +
                    (hasRank ? " does not say of how many ranks this is one"
                             : " does not say which of them this is") +
                    ": set both, or neither to train alone");
}

/// Notes that a job of Slurm has several tasks, and srun did not start this
/// process: shells and batch scripts are such.
static void noteUnusedTasks() {
  uint32_t tasks = 0;
  if (!getenv("SLURM_NTASKS") || getenv("SLURM_STEP_NUM_TASKS") ||
      readNumber("SLURM_NTASKS", UINT32_MAX, tasks) || tasks <= 1)
    return;
  complain("note: SLURM_NTASKS=" + std::to_string(tasks) +
           ", and srun did not start this process: it trains alone");
}

Fault frit::train::findPlace(Place &place) {
  auto launcher = std::ranges::find_if(launchers, [](const auto &launcher) {
    return getenv(launcher.rank) && getenv(launcher.size);
  });
  if (launcher != std::end(launchers)) {
    if (Fault fault = readLauncher(*launcher, place))
      return fault;
  } else {
    for (const LauncherVariables &each : launchers)
      if (Fault fault = checkHalf(each))
        return fault;
    noteUnusedTasks();
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
    if (Fault fault = readNumber("MASTER_PORT", 65534, port, 1))
      return fault;
  // torchrun itself listens at the port.
  const char *agent = getenv("TORCHELASTIC_USE_AGENT_STORE");
  place.port = uint16_t(port + (agent && !strcmp(agent, "True")));
  return {};
}
