//===- HostGroup.h - Means over processes of one host ---------------------===//

#ifndef FRIT_CPU_HOSTGROUP_H
#define FRIT_CPU_HOSTGROUP_H

#include "runtime/exec/Status.h"

#include <memory>

namespace frit::cpu {

/// Makes the id of a new group: a name of shared memory that nobody else has.
Status makeHostGroupId(frit_group_id &id);

/// A rank's part in a group of processes, which exchange numbers through shared
/// memory. A rank that ends is noticed by the others.
class HostGroup {
public:
  /// Most ranks of a group.
  static constexpr uint32_t kMostRanks = 64;

  /// Waits until all ranks have come, for a minute at most.
  static Status open(const frit_group &group,
                     std::shared_ptr<HostGroup> &result);
  HostGroup(const HostGroup &) = delete;
  ~HostGroup();

  /// Replaces `count` floats by their mean over all ranks, summed in the order
  /// of the ranks.
  Status mean(float *data, uint64_t count);

private:
  struct Shared;

  HostGroup(uint32_t rank, uint32_t size) : rank(rank), size(size) {}
  Status meet(const char *action, double seconds);
  float *slot(uint32_t of) const;

  uint32_t rank, size;
  Shared *shared = nullptr;
};

} // namespace frit::cpu

#endif // FRIT_CPU_HOSTGROUP_H
