//===- AttentionGradient.td - The schedule of attention's gradient --------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_WgmmaAttentionGradientAttr
    : Cuda_Schedule<"WgmmaAttentionGradient", "wgmma_attention_gradient"> {
  let summary = "The gradient of attention by TMA and WGMMA (sm_90a).";
  let parameters = (ins
    Number<"tiles of 64 rows in shared memory">:$stages,
    Blocks:$blocks);
}
