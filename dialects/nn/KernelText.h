//===- KernelText.h - Which fusions share a kernel ------------------------===//

#ifndef FRIT_DIALECTS_NN_KERNELTEXT_H
#define FRIT_DIALECTS_NN_KERNELTEXT_H

#include "dialects/nn/NN.h"

namespace frit::nn {

/// Returns the text of a fusion without the values that it reads. Fusions of
/// equal text are one kernel.
std::string kernelText(FusionOp fusion);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_KERNELTEXT_H
