//===- CublasLt.h - Matrix products by cuBLASLt ---------------------------===//

#ifndef FRIT_RUNTIME_CUDA_LIBRARY_CUBLASLT_H
#define FRIT_RUNTIME_CUDA_LIBRARY_CUBLASLT_H

#include "frit/artifact.h"
#include "runtime/cuda/library/CublasLtApi.h"
#include "runtime/cuda/library/Library.h"
#include "runtime/cuda/library/LibraryCall.h"

#include <memory>

namespace frit::cuda {

/// The library and a handle for one device. Its LibraryCalls refer to it and
/// must not outlive it. Thread safe.
class CublasLt : public CublasLtApi {
public:
  CublasLt() = default;
  CublasLt(const CublasLt &) = delete;
  ~CublasLt();

  /// Loads the library; false if it is not found. Needs no device.
  bool load();
  /// Creates the handle. The device's context must be current.
  bool open();

  /// Returns a call for `problem`, or null if the library does not support it.
  /// `alignments` are the guaranteed alignments of the arguments in bytes.
  std::unique_ptr<LibraryCall> prepare(const artifact::Gemm &problem,
                                       std::span<const uint32_t> alignments);

  LtHandle handle = nullptr;
  size_t version = 0;
  Library library;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LIBRARY_CUBLASLT_H
