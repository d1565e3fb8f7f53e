//===- Problems.h - What steps ask of libraries and of TMA ----------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_PROBLEMS_H
#define FRIT_CODEGEN_ARTIFACT_PROBLEMS_H

#include "dialects/plan/Plan.h"
#include "frit/artifact.h"

namespace frit::artifact {

// The plan's operators as entries of the tables that the runtime reads.
Gemm problemOf(plan::GemmOp op);
Conv problemOf(plan::ConvOp op);
Attention problemOf(plan::AttentionOp op);
TensorMap tensorMapOf(plan::TensorMapAttr map);

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_PROBLEMS_H
