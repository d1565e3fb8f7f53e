//===- Problems.h - Tables of gemms, convs, attentions and tensor maps ----===//

#ifndef FRIT_CODEGEN_ARTIFACT_PROBLEMS_H
#define FRIT_CODEGEN_ARTIFACT_PROBLEMS_H

#include "dialects/plan/Plan.h"
#include "frit/artifact.h"

namespace frit::artifact {

// Convert the plan's operations to table entries of the artifact.
Gemm problemOf(plan::GemmOp op);
Conv problemOf(plan::ConvOp op);
Attention problemOf(plan::AttentionOp op);
TensorMap tensorMapOf(plan::TensorMapAttr map);

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_PROBLEMS_H
