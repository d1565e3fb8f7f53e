//===- FakeNccl.cpp - NCCL's interface without a GPU ----------------------===//
//
// Built as libnccl.so.2 beside the fake driver of ../fuzz/Driver.cpp, whose
// device memory is host memory. Ranks are processes that share memory. Calls
// complete before they return, also within a group of calls.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/HostGroup.h"

#include <cstring>

using frit::cpu::HostGroup;
using Part = HostGroup::Part;

using frit::artifact::DType;

/// Values of nccl.h.
static constexpr int kFloat32 = 7, kBfloat16 = 9, kSum = 0, kAvg = 4;

static std::string fault;

static HostGroup &groupOf(void *comm) {
  return **static_cast<std::shared_ptr<HostGroup> *>(comm);
}

/// Returns this rank's part of a tensor with `count` elements per rank.
static Part partOf(const HostGroup &group, size_t count) {
  return {group.rank * count, (group.rank + 1) * count};
}

/// Returns all elements on rank `root`, none on the others.
static Part partOfRoot(const HostGroup &group, size_t count, int root) {
  return {0, int(group.rank) == root ? count : 0};
}

/// Returns the address of an element of a tensor.
static const void *at(const void *data, size_t element, int type) {
  return static_cast<const char *>(data) + element * (type == kFloat32 ? 4 : 2);
}

/// Converts a status to an ncclResult_t.
static int result(frit::Status status) {
  fault = status.message();
  return status.failed() ? 2 : 0;
}

static int refuse(const char *why) {
  fault = why;
  return 4; // ncclInvalidArgument
}

/// Reduces a part of `data` in place.
static int reduce(HostGroup &group, const void *data, size_t count, int type,
                  int op, Part part) {
  if ((type != kFloat32 && type != kBfloat16) || (op != kSum && op != kAvg))
    return refuse("type or operator");
  return result(group.reduce(const_cast<void *>(data), count,
                             type == kFloat32 ? DType::f32 : DType::bf16,
                             op == kAvg, part));
}

extern "C" {

int ncclGetUniqueId(frit_group_id *id) {
  return result(frit::cpu::HostGroup::makeId(*id));
}

int ncclCommInitRank(void **comm, int size, frit_group_id id, int rank) {
  auto *group = new std::shared_ptr<HostGroup>;
  *comm = group;
  return result(HostGroup::open({uint32_t(rank), uint32_t(size), id}, *group));
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
                  void *comm, void *) {
  if (from != to)
    return refuse("not in place");
  return reduce(groupOf(comm), to, count, type, op, {0, count});
}

int ncclReduceScatter(const void *from, void *to, size_t count, int type,
                      int op, void *comm, void *) {
  HostGroup &group = groupOf(comm);
  Part own = partOf(group, count);
  if (to != at(from, own.begin, type))
    return refuse("not in place");
  return reduce(group, from, count * group.size, type, op, own);
}

int ncclAllGather(const void *from, void *to, size_t count, int type,
                  void *comm, void *) {
  HostGroup &group = groupOf(comm);
  Part own = partOf(group, count);
  if (from != at(to, own.begin, type) || type != kFloat32)
    return refuse("not in place, or type");
  return result(
      group.gather(static_cast<float *>(to), count * group.size, own));
}

int ncclReduce(const void *from, void *to, size_t count, int type, int op,
               int root, void *comm, void *) {
  if (from != to)
    return refuse("not in place");
  HostGroup &group = groupOf(comm);
  return reduce(group, to, count, type, op, partOfRoot(group, count, root));
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                  void *comm, void *) {
  if (from != to || type != kFloat32)
    return refuse("not in place, or type");
  HostGroup &group = groupOf(comm);
  return result(group.gather(static_cast<float *>(to), count,
                             partOfRoot(group, count, root)));
}

int ncclGroupStart() { return 0; }
int ncclGroupEnd() { return 0; }

int ncclCommDestroy(void *comm) {
  delete static_cast<std::shared_ptr<HostGroup> *>(comm);
  return 0;
}

const char *ncclGetErrorString(int) { return "unhandled system error"; }
const char *ncclGetLastError(void *) { return fault.c_str(); }

} // extern "C"
