//===- Cudnn.h - Convolutions and attention by cuDNN ----------------------===//

#ifndef FRIT_CUDA_CUDNN_H
#define FRIT_CUDA_CUDNN_H

#include "frit/artifact.h"
#include "runtime/cuda/CudnnApi.h"
#include "runtime/cuda/Library.h"

#include <memory>

namespace frit::cuda {

/// The library, open while this lives.
class Cudnn : public CudnnApi {
public:
  /// Finds the library; false where there is none, or only one before version
  /// 9. Needs no device.
  bool load();

  size_t version = 0;

private:
  Library library;
};

/// One kind of attention as the library runs it, for all the calls of it.
struct AttentionGraph;

/// A handle for the current device. One thread at a time may use it and the
/// calls made from it, which must not outlive it.
class CudnnHandle {
public:
  explicit CudnnHandle(const Cudnn &dnn) : dnn(dnn) {}
  CudnnHandle(const CudnnHandle &) = delete;
  ~CudnnHandle();

  bool open() { return dnn.create(&handle) == 0; }

  /// A call for `problem`, or null where the library has nothing for it.
  /// `zeros` is what to add where a fused call wants a bias and there is none.
  std::unique_ptr<LibraryCall> prepare(const artifact::Conv &problem,
                                       DevicePointer zeros);
  /// The same for attention, whose arguments are aligned so at least.
  std::unique_ptr<LibraryCall> prepare(const artifact::Attention &problem,
                                       std::span<const uint32_t> alignments);

  const Cudnn &dnn;
  DnnHandle handle = nullptr;

private:
  AttentionGraph &graphOf(const artifact::Attention &problem);
  void releaseAttentions();

  AttentionGraph *attentions = nullptr; ///< a list of its own
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDNN_H
