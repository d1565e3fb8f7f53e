//===- TuneOnGpu.h - Time candidates on this machine's GPU ----------------===//

#ifndef FRIT_FRITC_TUNEONGPU_H
#define FRIT_FRITC_TUNEONGPU_H

#include "compiler/driver/Tune.h"
#include "runtime/cuda/Driver.h"

namespace frit {

/// The first GPU, by the runtime that a compiled model runs on.
class TuneOnGpu final : public TuneDevice {
public:
  llvm::Expected<std::string> open() override;
  std::vector<uint32_t> algorithms(const frit_image &image) override;
  llvm::Expected<double> time(const frit_image &image, Pace pace) override;
  bool works() override;

private:
  /// Holds the device's context, which would else end with every module.
  cuda::Gpu gpu;
};

} // namespace frit

#endif // FRIT_FRITC_TUNEONGPU_H
