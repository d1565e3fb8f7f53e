//===- MergeMoments.td - The schedule of merging moments -------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_MergeMomentsAttr : Cuda_Schedule<"MergeMoments", "merge_moments"> {
  let summary = "Merges moments of parts into those of rows.";
  let parameters = (ins Number<"threads of a block">:$threads);
}
