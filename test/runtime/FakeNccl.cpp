//===- FakeNccl.cpp - NCCL's interface without a GPU ----------------------===//
//
// Built as libnccl.so.2 beside the fake driver of ../fuzz/Driver.cpp, whose
// device memory is host memory. Ranks are processes that share memory. A mean
// is there when the call returns.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/HostGroup.h"

#include <cstring>

using frit::cpu::HostGroup;

static std::string fault;

/// Returns an ncclResult_t.
static int result(frit::Status status) {
  fault = status.message();
  return status.failed() ? 2 : 0;
}

extern "C" {

int ncclGetUniqueId(frit_group_id *id) {
  return result(frit::cpu::makeHostGroupId(*id));
}

int ncclCommInitRank(void **comm, int size, frit_group_id id, int rank) {
  auto *group = new std::shared_ptr<HostGroup>;
  *comm = group;
  return result(HostGroup::open({uint32_t(rank), uint32_t(size), id}, *group));
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
                  void *comm, void *) {
  if (from != to || type != /*ncclFloat32*/ 7 || op != /*ncclAvg*/ 4)
    return 4; // invalid argument
  return result((*static_cast<std::shared_ptr<HostGroup> *>(comm))
                    ->mean(static_cast<float *>(to), count));
}

int ncclCommDestroy(void *comm) {
  delete static_cast<std::shared_ptr<HostGroup> *>(comm);
  return 0;
}

const char *ncclGetErrorString(int) { return "unhandled system error"; }
const char *ncclGetLastError(void *) { return fault.c_str(); }

} // extern "C"
