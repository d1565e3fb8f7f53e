//===- Depthwise.td - The schedule of depthwise convolutions ---------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_DepthwiseAttr : Cuda_Schedule<"Depthwise", "depthwise"> {
  let summary = "A filter for each channel, in a thread's registers.";
  let parameters = (ins Number<"neighbouring channels of a thread">:$vector,
                        Number<"outputs of a thread, one below the other">:$strip,
                        Number<"threads of a block">:$threads);
}
