//===- HostGroup.cpp - Collectives of processes of one host ---------------===//

#include "runtime/cpu/HostGroup.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>
#include <vector>

using namespace frit;
using namespace frit::cpu;

/// Floats per rank's slot, through which it passes data to the others.
static constexpr uint64_t kSlot = 1 << 16;

/// Timeout in seconds for all ranks to join at the start.
static constexpr double kPatience = 60;

/// The content of a group's id. The shared memory is a file without a name,
/// open in the process that made the id until all ranks have joined, so nothing
/// is left of it however they end.
struct HostGroup::Id {
  char kind[8] = "frit-2";
  int32_t process = 0, file = 0;
  uint64_t random = 0; ///< at the start of the file too

  static bool read(const frit_group_id &bytes, Id &id) {
    memcpy(&id, bytes.bytes, sizeof id);
    return !memcmp(id.kind, Id().kind, sizeof id.kind);
  }
};

/// The beginning of the shared memory. The slots of the ranks follow.
struct HostGroup::Shared {
  uint64_t random; ///< of the id
  /// Ranks that have reached the current barrier, and the number of barriers so
  /// far.
  std::atomic<uint32_t> here, meetings;
  std::atomic<int32_t> processes[kMostRanks];
};

static_assert(std::atomic<uint32_t>::is_always_lock_free);

Status HostGroup::makeId(frit_group_id &bytes) {
  Id id;
  if (getrandom(&id.random, sizeof id.random, 0) != sizeof id.random)
    return Status(FRIT_DEVICE_ERROR, "the system has no random numbers");
  id.process = getpid();
  id.file = memfd_create("frit-ranks", MFD_CLOEXEC);
  if (id.file < 0 || write(id.file, &id.random, sizeof id.random) !=
                         ssize_t(sizeof id.random)) {
    int fault = errno;
    if (id.file >= 0)
      close(id.file);
    return Status(
        FRIT_OUT_OF_MEMORY,
        format("cannot share memory with other ranks: %s", strerror(fault)));
  }
  memset(bytes.bytes, 0, sizeof bytes.bytes);
  memcpy(bytes.bytes, &id, sizeof id);
  return Status();
}

static uint64_t sharedBytes(uint64_t head, uint32_t size) {
  return head + size * kSlot * sizeof(float);
}

Status HostGroup::open(const frit_group &group,
                       std::shared_ptr<HostGroup> &result) {
  if (group.size > kMostRanks)
    return invalidArgument(
        format("a group on the cpu target has at most %u ranks", kMostRanks));
  Id id;
  if (!Id::read(group.id, id))
    return invalidArgument(
        "the id of the group was not made on the cpu target");
  std::shared_ptr<HostGroup> made(new HostGroup(group.rank, group.size));
  uint64_t bytes = sharedBytes(sizeof(Shared), group.size);
  std::string path = format("/proc/%d/fd/%d", id.process, id.file);
  int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  uint64_t random = 0;
  if (file >= 0 && (pread(file, &random, sizeof random, 0) != sizeof random ||
                    random != id.random)) {
    close(file);
    file = -1;
    errno = ENOENT;
  }
  if (file < 0)
    return Status(FRIT_DEVICE_ERROR,
                  format("cannot share memory with process %d, which made the "
                         "group's id: %s",
                         id.process, strerror(errno)));
  // The maker's own file goes when all ranks have opened it, or never will.
  struct Maker {
    const Id &id;
    ~Maker() {
      if (id.process == getpid())
        close(id.file);
    }
  } maker{id};
  // The file is zero-filled at first; its size is the same for all ranks.
  void *memory = MAP_FAILED;
  int fault = posix_fallocate(file, 0, off_t(bytes));
  if (!fault) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    fault = errno;
  }
  close(file);
  if (memory == MAP_FAILED)
    return Status(FRIT_OUT_OF_MEMORY,
                  format("cannot share memory with the other ranks: %s",
                         strerror(fault)));
  made->shared = static_cast<Shared *>(memory);
  made->shared->processes[group.rank] = getpid();
  FRIT_TRY(made->meet("join the group", kPatience));
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

/// Barrier: waits until all ranks have made the same number of calls.
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

/// No timeout: ranks wait for each other as long as all processes exist.
static constexpr double kForever = std::numeric_limits<double>::infinity();

/// Returns the intersection of a part with the `count` elements from `first`
/// on, counted from `first`.
static HostGroup::Part within(HostGroup::Part part, uint64_t first,
                              uint64_t count) {
  auto clamp = [&](uint64_t at) {
    return std::clamp(at, first, first + count) - first;
  };
  return {clamp(part.begin), clamp(part.end)};
}

namespace {
/// bf16: the upper half of a float.
struct BFloat16 {
  BFloat16() = default;
  /// Rounds to nearest, ties to even.
  explicit BFloat16(float value) {
    uint32_t wide = std::bit_cast<uint32_t>(value);
    bits = std::isnan(value)
               ? uint16_t(wide >> 16 | 0x40)
               : uint16_t((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(uint32_t(bits) << 16);
  }

  uint16_t bits;
};
} // namespace

template <typename Element>
Status HostGroup::reduceAs(Element *data, uint64_t count, bool isMean,
                           Part own) {
  std::vector<float> sums(std::min(count, kSlot));
  for (uint64_t done = 0; done < count; done += kSlot) {
    uint64_t some = std::min(count - done, kSlot);
    Element *elements = data + done;
    std::transform(elements, elements + some, slot(rank),
                   [](Element element) { return float(element); });
    FRIT_TRY(meet("average over the ranks", kForever));
    auto [begin, end] = within(own, done, some);
    std::copy(slot(0) + begin, slot(0) + end, sums.data() + begin);
    for (uint32_t other = 1; other < size; ++other) {
      const float *in = slot(other);
      for (uint64_t i = begin; i < end; ++i)
        sums[i] += in[i];
    }
    float divisor = isMean ? float(size) : 1;
    for (uint64_t i = begin; i < end; ++i)
      elements[i] = Element(sums[i] / divisor);
    FRIT_TRY(meet("average over the ranks", kForever));
  }
  return Status();
}

Status HostGroup::reduce(void *data, uint64_t count, artifact::DType type,
                         bool isMean, Part own) {
  return type == artifact::DType::bf16
             ? reduceAs(static_cast<BFloat16 *>(data), count, isMean, own)
             : reduceAs(static_cast<float *>(data), count, isMean, own);
}

Status HostGroup::gather(float *data, uint64_t count, Part own) {
  for (uint64_t done = 0; done < count; done += kSlot) {
    uint64_t some = std::min(count - done, kSlot);
    auto [begin, end] = within(own, done, some);
    memcpy(slot(0) + begin, data + done + begin, (end - begin) * sizeof(float));
    FRIT_TRY(meet("gather from the ranks", kForever));
    memcpy(data + done, slot(0), some * sizeof(float));
    FRIT_TRY(meet("gather from the ranks", kForever));
  }
  return Status();
}
