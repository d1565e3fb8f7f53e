//===- Depthwise.td - The schedule of depthwise convolutions ---------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_DepthwiseAttr : Cuda_Schedule<"Depthwise", "depthwise"> {
  let summary = "A depthwise convolution, with filters in registers.";
  let parameters = (ins
    Number<"adjacent channels of a thread">:$vector,
    Number<"vertically adjacent outputs of a thread">:$strip,
    Number<"threads of a block">:$threads);
}
