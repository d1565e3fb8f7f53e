//===- TuneOnGpu.h - Time candidates on this machine's GPU ----------------===//

#ifndef FRIT_TOOLS_FRITC_TUNEONGPU_H
#define FRIT_TOOLS_FRITC_TUNEONGPU_H

#include "compiler/driver/tuning/Tune.h"
#include "runtime/cuda/Driver.h"

namespace frit {

/// Times candidates on the first GPU with frit's own runtime.
class TuneOnGpu final : public TuneDevice {
public:
  llvm::Expected<std::string> open() override;
  std::vector<uint32_t> algorithms(const frit_image &image) override;
  llvm::Expected<double> time(const frit_image &image, Pace pace) override;
  bool works() override;

private:
  /// Keeps the device's primary context alive between modules.
  cuda::Gpu gpu;
};

} // namespace frit

#endif // FRIT_TOOLS_FRITC_TUNEONGPU_H
