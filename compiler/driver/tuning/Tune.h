//===- Tune.h - Time the schedules of a model's contractions --------------===//

#ifndef FRIT_COMPILER_DRIVER_TUNING_TUNE_H
#define FRIT_COMPILER_DRIVER_TUNING_TUNE_H

#include "codegen/cuda/target/CudaTarget.h"
#include "codegen/cuda/target/Tuning.h"
#include "frit/image.h"

#include "mlir/IR/BuiltinOps.h"

namespace frit {

/// A device that times compiled images.
class TuneDevice {
public:
  virtual ~TuneDevice() = default;

  /// Opens the device. Returns its name and the libraries' versions, on which
  /// times depend: "NVIDIA H200, cuBLASLt 13.1". An error if there is none.
  virtual llvm::Expected<std::string> open() = 0;

  /// Returns the library's algorithms for the image's first library call, by
  /// their numbers in schedules, the library's favourite first.
  virtual std::vector<uint32_t> algorithms(const frit_image &image) = 0;

  /// Bursts run at the device's highest clocks. Run continuously, the device is
  /// limited by its power, as in a model that keeps it busy.
  enum class Pace { bursts, onEnd };
  /// Returns the microseconds of a call with generated inputs.
  virtual llvm::Expected<double> time(const frit_image &image, Pace pace) = 0;

  /// Returns whether the device still works; after some kernel failures it does
  /// not.
  virtual bool works() = 0;
};

struct TuneOptions {
  std::string path;   ///< of the file to add lines to
  double budget = 60; ///< seconds
  bool verbose = false;
};

/// Times the schedules of the contractions in `module`, which is fused for the
/// target of `options`, and adds the best of each to `tuning` and the file.
/// Skips contractions that the file has for this device. Reports on standard
/// error what was timed, and why the rest was not.
llvm::Error tuneContractions(mlir::ModuleOp module,
                             const cuda::CudaOptions &options,
                             const TuneOptions &tune, TuneDevice &device,
                             cuda::Tuning &tuning);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_TUNING_TUNE_H
