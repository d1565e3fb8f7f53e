//===- Nccl.cpp - Collectives of GPUs by NCCL -----------------------------===//

#include "runtime/cuda/library/Nccl.h"
#include "runtime/exec/Types.h"

#include <algorithm>

using namespace frit;
using namespace frit::cuda;
using artifact::Collective;
using artifact::DType;

/// Values of nccl.h.
static constexpr int kNcclFloat32 = 7, kNcclBfloat16 = 9, kNcclSum = 0,
                     kNcclAvg = 4;

Status Nccl::load() {
  if (!library.open(kNccl))
    return Status(FRIT_UNSUPPORTED,
                  "NCCL was not found: it is the package libnccl2, or "
                  "nvidia-nccl-cu13 of pip (FRIT_NCCL names it elsewhere)");
  library.find(
      {{getLastError, "ncclGetLastError"}, {getVersion, "ncclGetVersion"}});
  if (library.find({{getUniqueId, "ncclGetUniqueId"},
                    {initRank, "ncclCommInitRank"},
                    {allReduce, "ncclAllReduce"},
                    {reduceScatter, "ncclReduceScatter"},
                    {allGather, "ncclAllGather"},
                    {reduce, "ncclReduce"},
                    {broadcast, "ncclBroadcast"},
                    {groupStart, "ncclGroupStart"},
                    {groupEnd, "ncclGroupEnd"},
                    {destroy, "ncclCommDestroy"},
                    {getErrorString, "ncclGetErrorString"}}))
    return Status();
  return Status(FRIT_UNSUPPORTED, "libnccl.so.2 lacks functions of NCCL");
}

Status Nccl::check(int result, const char *action, NcclComm comm) const {
  if (!result)
    return Status();
  const char *detail = getLastError ? getLastError(comm) : nullptr;
  bool hasDetail = detail && *detail;
  return Status(FRIT_DEVICE_ERROR,
                format("NCCL could not %s: %s%s%s", action,
                       getErrorString(result), hasDetail ? ": " : "",
                       hasDetail ? detail : ""));
}

Status Communicator::open(std::shared_ptr<const Nccl> nccl,
                          const frit_group &group,
                          std::shared_ptr<Communicator> &result) {
  NcclId id;
  std::ranges::copy(group.id.bytes, id.bytes);
  NcclComm comm = nullptr;
  FRIT_TRY(
      nccl->check(nccl->initRank(&comm, int(group.size), id, int(group.rank)),
                  "connect the GPUs"));
  result.reset(new Communicator(std::move(nccl), comm, group));
  return Status();
}

static void *pointerTo(DevicePointer address) {
  return reinterpret_cast<void *>(address);
}

static int ncclType(DType type) {
  return type == DType::bf16 ? kNcclBfloat16 : kNcclFloat32;
}

/// Enqueues a reduce-scatter or a gather of shards. Shards have equal sizes,
/// except for the last one's remainder, which is a separate call in the same
/// NCCL group.
int Communicator::enqueueShards(bool gathers, DevicePointer data,
                                uint64_t count, DType type,
                                Stream stream) const {
  uint64_t each = artifact::shardOf(count / artifact::kShardRow, 0, size).end *
                  artifact::kShardRow;
  auto at = [&](uint64_t element) {
    return pointerTo(data + element * elementBytes(type));
  };
  int kind = ncclType(type), last = int(size) - 1;
  int result = nccl->groupStart();
  if (!result && each)
    result = gathers ? nccl->allGather(at(rank * each), at(0), each, kind, comm,
                                       stream)
                     : nccl->reduceScatter(at(0), at(rank * each), each, kind,
                                           kNcclAvg, comm, stream);
  void *rest = at(size * each);
  if (uint64_t left = count - size * each; left && !result)
    result = gathers
                 ? nccl->broadcast(rest, rest, left, kind, last, comm, stream)
                 : nccl->reduce(rest, rest, left, kind, kNcclAvg, last, comm,
                                stream);
  int ended = nccl->groupEnd();
  return result ? result : ended;
}

Status Communicator::enqueue(Collective collective, DevicePointer data,
                             uint64_t count, DType type, Stream stream) const {
  const artifact::CollectiveTraits traits = traitsOf(collective);
  int result =
      traits.divides
          ? enqueueShards(traits.gathers, data, count, type, stream)
          : nccl->allReduce(pointerTo(data), pointerTo(data), count,
                            ncclType(type),
                            collective == Collective::sum ? kNcclSum : kNcclAvg,
                            comm, stream);
  return nccl->check(
      result, traits.gathers ? "gather from the GPUs" : "average over the GPUs",
      comm);
}
