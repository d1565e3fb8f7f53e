//===- Tune.h - Time the schedules of a model's contractions --------------===//

#ifndef FRIT_COMPILER_DRIVER_TUNING_TUNE_H
#define FRIT_COMPILER_DRIVER_TUNING_TUNE_H

#include "codegen/cuda/target/CudaTarget.h"
#include "codegen/cuda/target/Tuning.h"
#include "frit/image.h"

#include "mlir/IR/BuiltinOps.h"

namespace frit {

/// A device that runs what is compiled, to time it.
class TuneDevice {
public:
  virtual ~TuneDevice() = default;

  /// The device and the libraries that it has, which times depend on:
  /// "NVIDIA H200, cuBLASLt 13.1". An error where there is no device.
  virtual llvm::Expected<std::string> open() = 0;

  /// The algorithms that the library has for the image's first call of it, by
  /// the numbers that schedules know them by, the library's favourite first.
  virtual std::vector<uint32_t> algorithms(const frit_image &image) = 0;

  /// In bursts a device is as fast as its clocks allow; on end its power limits
  /// it, as in a model that keeps it busy.
  enum class Pace { bursts, onEnd };
  /// Microseconds of a call, with inputs made up.
  virtual llvm::Expected<double> time(const frit_image &image, Pace pace) = 0;

  /// Whether the device still runs anything: after some failures of a kernel it
  /// does not.
  virtual bool works() = 0;
};

struct TuneOptions {
  std::string path;   ///< of the file that lines are added to
  double budget = 60; ///< seconds
  bool verbose = false;
};

/// Times the schedules of the contractions in `module`, which are fused for the
/// target that `options` describe, and adds the best of each to `tuning` and to
/// the file. Contractions that the file has for this device are not timed
/// again. Says on standard error what it did, and what it did not and why.
llvm::Error tuneContractions(mlir::ModuleOp module,
                             const cuda::CudaOptions &options,
                             const TuneOptions &tune, TuneDevice &device,
                             cuda::Tuning &tuning);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_TUNING_TUNE_H
