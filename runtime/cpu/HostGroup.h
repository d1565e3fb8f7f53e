//===- HostGroup.h - Collectives of processes of one host -----------------===//

#ifndef FRIT_RUNTIME_CPU_HOSTGROUP_H
#define FRIT_RUNTIME_CPU_HOSTGROUP_H

#include "frit/artifact.h"
#include "runtime/exec/Status.h"

#include <memory>

namespace frit::cpu {

/// A rank of a group of processes, which exchange data through shared memory.
/// Others notice if a rank's process ends.
class HostGroup {
public:
  /// Maximum ranks of a group.
  static constexpr uint32_t kMostRanks = 64;

  /// Makes the id of a new group, in the process of one of its ranks.
  static Status makeId(frit_group_id &bytes);
  /// Waits up to a minute until all ranks have joined.
  static Status open(const frit_group &group,
                     std::shared_ptr<HostGroup> &result);
  HostGroup(const HostGroup &) = delete;
  ~HostGroup();

  /// Elements [begin, end) of a tensor.
  struct Part {
    uint64_t begin = 0, end = 0;
  };

  /// Replaces this rank's part of `count` elements, f32 or bf16, by their sum
  /// over all ranks or by their mean. Adds in f32, in the order of the ranks.
  Status reduce(void *data, uint64_t count, artifact::DType type, bool isMean,
                Part own);

  /// Replaces `count` floats by the parts of all ranks.
  Status gather(float *data, uint64_t count, Part own);

  artifact::Shard shardOf(uint64_t rows) const {
    return artifact::shardOf(rows, rank, size);
  }

  const uint32_t rank, size;

private:
  struct Id;
  struct Shared;

  HostGroup(uint32_t rank, uint32_t size) : rank(rank), size(size) {}
  Status meet(const char *action, double seconds);
  template <typename Element>
  Status reduceAs(Element *data, uint64_t count, bool isMean, Part own);
  float *slot(uint32_t of) const;

  Shared *shared = nullptr;
};

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_HOSTGROUP_H
