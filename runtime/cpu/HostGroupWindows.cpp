//===- HostGroupWindows.cpp - No collectives of processes -----------------===//
//
// Ranks of the cpu target share memory by ways that only Linux has. No group is
// ever open here.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/HostGroup.h"

using namespace frit;
using namespace frit::cpu;

static Status refuse() {
  return Status(FRIT_UNSUPPORTED,
                "the cpu target has no groups of ranks on Windows");
}

Status HostGroup::makeId(frit_group_id &) { return refuse(); }

Status HostGroup::open(const frit_group &, std::shared_ptr<HostGroup> &) {
  return refuse();
}

HostGroup::~HostGroup() = default;

Status HostGroup::reduce(void *, uint64_t, artifact::DType, bool, Part) {
  return refuse();
}

Status HostGroup::gather(float *, uint64_t, Part) { return refuse(); }
