//===- Nccl.cpp - Means over several GPUs by NCCL -------------------------===//

#include "runtime/cuda/library/Nccl.h"

#include <algorithm>

using namespace frit;
using namespace frit::cuda;

/// Values of nccl.h.
static constexpr int kNcclFloat32 = 7, kNcclAvg = 4;

Status Nccl::load() {
  if (!library.open(kNccl))
    return Status(FRIT_UNSUPPORTED,
                  "NCCL was not found: it is the package libnccl2, or "
                  "nvidia-nccl-cu13 of pip (FRIT_NCCL names it elsewhere)");
  library.find(getLastError, "ncclGetLastError");
  library.find(getVersion, "ncclGetVersion");
  if (library.find(getUniqueId, "ncclGetUniqueId") &
      library.find(initRank, "ncclCommInitRank") &
      library.find(allReduce, "ncclAllReduce") &
      library.find(destroy, "ncclCommDestroy") &
      library.find(getErrorString, "ncclGetErrorString"))
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
  result.reset(new Communicator(std::move(nccl), comm));
  return Status();
}

Status Communicator::mean(DevicePointer data, uint64_t count,
                          Stream stream) const {
  void *place = reinterpret_cast<void *>(data);
  return nccl->check(nccl->allReduce(place, place, count, kNcclFloat32,
                                     kNcclAvg, comm, stream),
                     "average over the GPUs", comm);
}
