//===- MergeMoments.td - The schedule of merging moments -------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_MergeMomentsAttr : Cuda_Schedule<"MergeMoments", "merge_moments"> {
  let summary = "The moments of whole rows from those of their parts.";
  let parameters = (ins Number<"threads of a block">:$threads);
}
