//===- RunSamples.h - Run models over data on the processor ---------------===//

#ifndef FRIT_TOOLS_FRITC_RUNSAMPLES_H
#define FRIT_TOOLS_FRITC_RUNSAMPLES_H

#include "compiler/driver/quantize/SampleRunner.h"
#include "frit/runtime.hpp"
#include "tools/support/Samples.h"

namespace frit {

/// Runs artifacts on the processor with frit's own runtime.
class RunSamples final : public SampleRunner {
public:
  llvm::Error read(llvm::StringRef path) override;
  llvm::Error open(llvm::StringRef artifact, unsigned ownInputs) override;
  size_t count() const override { return samples.count(); }
  llvm::Error
  run(size_t index, llvm::ArrayRef<float> own,
      llvm::function_ref<void(unsigned output, llvm::ArrayRef<float>)> visit)
      override;

private:
  llvm::Error checkFloats(uint32_t inputCount) const;

  tools::Samples samples;
  Module module;
  Context context; ///< of `module`, which it needs
  std::vector<tools::Tensor> outputs;
};

} // namespace frit

#endif // FRIT_TOOLS_FRITC_RUNSAMPLES_H
