//===- Nccl.h - Collectives of GPUs by NCCL -------------------------------===//

#ifndef FRIT_RUNTIME_CUDA_LIBRARY_NCCL_H
#define FRIT_RUNTIME_CUDA_LIBRARY_NCCL_H

#include "frit/artifact.h"
#include "runtime/cuda/CudaApi.h"
#include "runtime/cuda/library/Library.h"
#include "runtime/exec/Status.h"

#include <memory>

namespace frit::cuda {

using NcclComm = struct ncclComm *;

/// ncclUniqueId
struct NcclId {
  char bytes[128];
};
static_assert(sizeof(NcclId) == sizeof(frit_group_id));

/// NCCL 2.10 or newer.
class Nccl {
public:
  /// Opens the library. The error names the places searched.
  Status load();

  Status check(int result, const char *action, NcclComm comm = nullptr) const;

  int (*getUniqueId)(NcclId *id);
  int (*initRank)(NcclComm *comm, int size, NcclId id, int rank);
  int (*allReduce)(const void *from, void *to, size_t count, int type, int op,
                   NcclComm comm, Stream stream);
  int (*reduceScatter)(const void *from, void *to, size_t countOfRank, int type,
                       int op, NcclComm comm, Stream stream);
  int (*allGather)(const void *from, void *to, size_t countOfRank, int type,
                   NcclComm comm, Stream stream);
  int (*reduce)(const void *from, void *to, size_t count, int type, int op,
                int root, NcclComm comm, Stream stream);
  int (*broadcast)(const void *from, void *to, size_t count, int type, int root,
                   NcclComm comm, Stream stream);
  int (*groupStart)();
  int (*groupEnd)();
  int (*destroy)(NcclComm comm);
  int (*getVersion)(int *version) = nullptr; ///< null if the library has none

  Library library;

private:
  const char *(*getErrorString)(int result);
  const char *(*getLastError)(NcclComm comm) = nullptr; ///< since 2.13
};

/// A rank of a group of GPUs, one per rank. All functions require that the
/// device's context is current.
class Communicator {
public:
  /// Waits until all ranks have joined.
  static Status open(std::shared_ptr<const Nccl> nccl, const frit_group &group,
                     std::shared_ptr<Communicator> &result);
  Communicator(const Communicator &) = delete;
  ~Communicator() { nccl->destroy(comm); }

  /// Enqueues a collective of `count` elements, f32 or bf16, in place. After a
  /// reduceScatter, elements outside of the rank's shard are undefined.
  Status enqueue(artifact::Collective collective, DevicePointer data,
                 uint64_t count, artifact::DType type, Stream stream) const;

  artifact::Shard shardOf(uint64_t rows) const {
    return artifact::shardOf(rows, rank, size);
  }

  const uint32_t rank, size;

private:
  Communicator(std::shared_ptr<const Nccl> nccl, NcclComm comm,
               const frit_group &group)
      : rank(group.rank), size(group.size), nccl(std::move(nccl)), comm(comm) {}
  int enqueueShards(bool gathers, DevicePointer data, uint64_t count,
                    artifact::DType type, Stream stream) const;

  std::shared_ptr<const Nccl> nccl;
  NcclComm comm;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LIBRARY_NCCL_H
