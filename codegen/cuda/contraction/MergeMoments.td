//===- MergeMoments.td - The schedule of merging moments -------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_MergeMomentsAttr : Cuda_Schedule<"MergeMoments", "merge_moments"> {
  let summary = "Moments of rows from the moments of their parts.";
  let parameters = (ins Number<"threads of a block">:$threads);
}
