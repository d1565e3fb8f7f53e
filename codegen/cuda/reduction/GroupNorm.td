//===- GroupNorm.td - The schedule of group norms --------------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_GroupNormAttr : Cuda_Schedule<"GroupNorm", "group_norm"> {
  let summary = "A group norm with channels last, whose tensor is read once.";
  let parameters = (ins
    Number<"adjacent groups of a cluster">:$run,
    NumberOr<"1", "blocks of a cluster, which divide the pixels">:$cluster,
    Number<"threads of a block">:$threads);
}
