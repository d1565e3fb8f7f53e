//===- Cudnn.h - Convolutions and attention by cuDNN ----------------------===//

#ifndef FRIT_CUDA_CUDNN_H
#define FRIT_CUDA_CUDNN_H

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

  /// Shares handles with the device's other models. `context` is current.
  void open(Context context) { handles = CudnnHandles::of(*this, context); }

  size_t version = 0;
  /// Whether only algorithms are used whose results are the same in every call.
  bool deterministic = false;
  Library library;
  std::shared_ptr<CudnnHandles> handles; ///< null until it is open
};

bool isHalf(artifact::DType type);

/// Returns the DnnType of a float.
int dnnTypeOf(artifact::DType type);

/// Returns whether cuDNN can express the window of a convolution: its pads are
/// the same on both sides.
bool takesWindow(const artifact::Conv &problem);

/// cuDNN's graphs of attention or its gradient, and of a convolution's
/// gradient.
struct AttentionGraph;
struct ConvGradientGraph;

/// A handle for the current device. Only one thread at a time may use it and
/// its calls, which must not outlive it.
class CudnnHandle {
public:
  CudnnHandle(const Cudnn &dnn, const Api &driver) : dnn(dnn), driver(driver) {}
  CudnnHandle(const CudnnHandle &) = delete;
  ~CudnnHandle();

  /// Fails if cuDNN does not start. The library must be open.
  bool open() { return (handle = dnn.handles->take()); }

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
  DnnHandle handle = nullptr;

private:
  std::unique_ptr<LibraryCall>
  prepareGradient(const artifact::Conv &problem,
                  std::span<const uint32_t> alignments);
  std::unique_ptr<LibraryCall>
  prepareGradient(const artifact::Attention &problem);
  AttentionGraph &graphOf(const artifact::Attention &problem);

  /// One for each problem, shared by all calls of it.
  std::vector<std::shared_ptr<AttentionGraph>> attentions;
  std::vector<std::shared_ptr<ConvGradientGraph>> gradients;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDNN_H
