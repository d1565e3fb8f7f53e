//===- Problems.h - Tables of gemms, convs and attentions -----------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_PROBLEMS_H
#define FRIT_CODEGEN_ARTIFACT_PROBLEMS_H

#include "dialects/plan/Plan.h"
#include "frit/artifact.h"

namespace frit::artifact {

// Convert the plan's operations to table entries of the artifact.
Gemm problemOf(plan::GemmOp op);
Conv problemOf(plan::ConvOp op);
Attention problemOf(plan::AttentionOp op);

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_PROBLEMS_H
