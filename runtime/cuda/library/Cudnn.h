//===- Cudnn.h - Convolutions and attention by cuDNN ----------------------===//

#ifndef FRIT_RUNTIME_CUDA_LIBRARY_CUDNN_H
#define FRIT_RUNTIME_CUDA_LIBRARY_CUDNN_H

#include "frit/artifact.h"
#include "runtime/cuda/library/CudnnApi.h"
#include "runtime/cuda/library/CudnnHandles.h"
#include "runtime/cuda/library/Library.h"
#include "runtime/cuda/library/LibraryCall.h"

#include <memory>
#include <vector>

namespace frit::cuda {

/// The library, open while this lives.
class Cudnn : public CudnnApi {
public:
  /// Loads the library; false if there is none of version 9 or later. Needs no
  /// device.
  bool load();

  size_t version = 0;
  /// Whether to use only algorithms with the same results in every call.
  bool deterministic = false;
  Library library;
};

bool isHalf(artifact::DType type);

/// Returns the DnnType of a floating-point type.
int dnnTypeOf(artifact::DType type);

/// Returns whether cuDNN can express the window of a convolution: its pads are
/// the same on both sides.
bool supportsWindow(const artifact::Conv &problem);

/// cuDNN's graphs of attention or its gradient, and of a convolution's
/// gradient.
struct AttentionGraph;
struct ConvGradientGraph;

/// A handle for one device. Only one thread at a time may use it and its calls,
/// which must not outlive it.
class CudnnHandle {
public:
  /// Takes a handle from the current device's pool; the destructor returns it.
  /// Null if cuDNN does not start. The arguments must outlive the result.
  static std::unique_ptr<CudnnHandle>
  open(const Cudnn &dnn, CudnnHandles &handles, const Api &driver);
  CudnnHandle(const CudnnHandle &) = delete;
  ~CudnnHandle();

  /// Returns a call for `problem`, or null if the library does not support it.
  /// `zeros` is the bias for fused calls of a problem without one; gradients
  /// need none. `alignments` are the guaranteed alignments of the arguments in
  /// bytes.
  std::unique_ptr<LibraryCall> prepare(const artifact::Conv &problem,
                                       DevicePointer zeros,
                                       std::span<const uint32_t> alignments);
  /// As above, for attention.
  std::unique_ptr<LibraryCall> prepare(const artifact::Attention &problem,
                                       std::span<const uint32_t> alignments);

  const Cudnn &dnn;
  const Api &driver;
  const DnnHandle handle;

private:
  CudnnHandle(const Cudnn &dnn, CudnnHandles &handles, const Api &driver,
              DnnHandle handle)
      : dnn(dnn), driver(driver), handle(handle), handles(handles) {}
  std::unique_ptr<LibraryCall>
  prepareGradient(const artifact::Conv &problem,
                  std::span<const uint32_t> alignments);
  std::unique_ptr<LibraryCall>
  prepareGradient(const artifact::Attention &problem);
  AttentionGraph &graphOf(const artifact::Attention &problem);

  CudnnHandles &handles;
  /// One graph per problem, shared by all its calls.
  std::vector<std::shared_ptr<AttentionGraph>> attentions;
  std::vector<std::shared_ptr<ConvGradientGraph>> gradients;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LIBRARY_CUDNN_H
