//===- HostGroup.cpp - Means over processes of one host -------------------===//

#include "runtime/cpu/HostGroup.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

using namespace frit;
using namespace frit::cpu;

/// Floats of a rank's slot, through which it passes its numbers to the others.
static constexpr uint64_t kSlot = 1 << 16;

/// How long ranks wait for each other at the start, in seconds.
static constexpr double kPatience = 60;

/// The beginning of the shared memory. The slots of the ranks follow.
struct HostGroup::Shared {
  /// Ranks that have come to the current meeting, and the number of meetings.
  std::atomic<uint32_t> here, meetings;
  std::atomic<int32_t> processes[kMostRanks];
};

static_assert(std::atomic<uint32_t>::is_always_lock_free);

Status frit::cpu::makeHostGroupId(frit_group_id &id) {
  uint64_t random[2];
  if (getrandom(random, sizeof random, 0) != sizeof random)
    return Status(FRIT_DEVICE_ERROR, "the system has no random numbers");
  std::string name =
      format("/frit-%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
  memset(id.bytes, 0, sizeof id.bytes);
  memcpy(id.bytes, name.data(), name.size());
  return Status();
}

static uint64_t sharedBytes(uint64_t head, uint32_t size) {
  return head + size * kSlot * sizeof(float);
}

Status HostGroup::open(const frit_group &group,
                       std::shared_ptr<HostGroup> &result) {
  if (group.size > kMostRanks)
    return Status(
        FRIT_INVALID_ARGUMENT,
        format("a group on the cpu target has at most %u ranks", kMostRanks));
  std::string name(group.id.bytes, strnlen(group.id.bytes, 64));
  if (!name.starts_with("/frit-"))
    return Status(FRIT_INVALID_ARGUMENT,
                  "the id of the group was not made on the cpu target");
  std::shared_ptr<HostGroup> made(new HostGroup(group.rank, group.size));
  uint64_t bytes = sharedBytes(sizeof(Shared), group.size);
  int file = shm_open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  // The file starts as zeros; its size is the same for all ranks.
  void *memory = MAP_FAILED;
  if (file >= 0 && !posix_fallocate(file, 0, off_t(bytes)))
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int fault = errno;
  if (file >= 0)
    close(file);
  if (memory == MAP_FAILED) {
    shm_unlink(name.c_str());
    return Status(FRIT_OUT_OF_MEMORY,
                  format("cannot share memory with the other ranks: %s",
                         strerror(fault)));
  }
  made->shared = static_cast<Shared *>(memory);
  made->shared->processes[group.rank] = getpid();
  Status met = made->meet("join the group", kPatience);
  // All have it open, or never will.
  shm_unlink(name.c_str());
  FRIT_TRY(std::move(met));
  result = std::move(made);
  return Status();
}

HostGroup::~HostGroup() {
  if (shared)
    munmap(shared, sharedBytes(sizeof(Shared), size));
}

float *HostGroup::slot(uint32_t of) const {
  return reinterpret_cast<float *>(shared + 1) + of * kSlot;
}

/// Waits until all ranks have called this as often.
Status HostGroup::meet(const char *action, double seconds) {
  using Clock = std::chrono::steady_clock;
  uint32_t number = shared->meetings;
  if (++shared->here == size) {
    shared->here = 0;
    ++shared->meetings;
    return Status();
  }
  Clock::time_point start = Clock::now();
  for (uint64_t turn = 0; shared->meetings == number; ++turn) {
    if (turn < 1000) {
      sched_yield();
      continue;
    }
    usleep(turn < 10000 ? 50 : 1000);
    if (turn % 256)
      continue;
    for (uint32_t other = 0; other < size; ++other) {
      int32_t process = shared->processes[other];
      if (process && kill(process, 0) && errno == ESRCH &&
          shared->meetings == number)
        return Status(FRIT_DEVICE_ERROR,
                      format("cannot %s: rank %u has ended", action, other));
    }
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds)
      return Status(FRIT_DEVICE_ERROR,
                    format("cannot %s: %u of %u ranks have come", action,
                           uint32_t(shared->here), size));
  }
  return Status();
}

Status HostGroup::mean(float *data, uint64_t count) {
  double forever = std::numeric_limits<double>::infinity();
  for (uint64_t done = 0; done < count; done += kSlot) {
    uint64_t some = std::min(count - done, kSlot);
    memcpy(slot(rank), data + done, some * sizeof(float));
    FRIT_TRY(meet("average over the ranks", forever));
    float *out = data + done;
    memcpy(out, slot(0), some * sizeof(float));
    for (uint32_t other = 1; other < size; ++other) {
      const float *in = slot(other);
      for (uint64_t i = 0; i < some; ++i)
        out[i] += in[i];
    }
    for (uint64_t i = 0; i < some; ++i)
      out[i] /= float(size);
    FRIT_TRY(meet("average over the ranks", forever));
  }
  return Status();
}
