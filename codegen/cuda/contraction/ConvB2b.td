//===- ConvB2b.td - The schedule of back-to-back convolutions --------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_ConvB2bAttr : Cuda_WgmmaContractionSchedule<"ConvB2b", "conv_b2b"> {
  let summary = "A convolution and the pointwise one behind it (sm_90a).";
  let parameters = (ins
    Number<"warpgroups that multiply">:$warpgroups,
    Number<"rows of pixels in shared memory">:$stages,
    Number<"boxes of results in shared memory, a warp's">:$slots,
    Number<"filters of the second convolution that are multiplied at a time"
          >:$columns);
}
