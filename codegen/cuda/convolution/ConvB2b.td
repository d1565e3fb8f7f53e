//===- ConvB2b.td - The schedule of back-to-back convolutions --------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_ConvB2bAttr : Cuda_EarlyContractionSchedule<"ConvB2b", "conv_b2b"> {
  let summary = "A convolution and the pointwise one that follows (sm_90a).";
  let parameters = (ins
    Number<"consumer warpgroups: 2">:$warpgroups,
    Number<"rows of pixels in shared memory">:$stages,
    Number<"boxes of results in shared memory per warp">:$slots,
    Number<"output channels of the second convolution per step: 64 or 128"
          >:$columns,
    Blocks:$blocks);
}
