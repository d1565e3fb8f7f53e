//===- CublasLt.h - Matrix products by cuBLASLt ---------------------------===//

#ifndef FRIT_CUDA_CUBLASLT_H
#define FRIT_CUDA_CUBLASLT_H

#include "frit/artifact.h"
#include "runtime/cuda/CublasLtApi.h"
#include "runtime/cuda/Library.h"

#include <memory>

namespace frit::cuda {

/// The library and a handle for one device. Calls made from it hold a reference
/// and must not outlive it. May be used by several threads at once.
class CublasLt : public CublasLtApi {
public:
  CublasLt() = default;
  CublasLt(const CublasLt &) = delete;
  ~CublasLt();

  /// Finds the library; false where there is none. Needs no device.
  bool load();
  /// Makes a handle. The device's context must be current.
  bool open();

  /// A call for `problem`, or null where the library has nothing for it.
  /// `alignments` has the alignment in bytes that each argument surely has.
  std::unique_ptr<LibraryCall> prepare(const artifact::Gemm &problem,
                                       std::span<const uint32_t> alignments);

  LtHandle handle = nullptr;
  size_t version = 0;

private:
  Library library;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUBLASLT_H
