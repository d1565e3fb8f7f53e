//===- CudnnAttentionGradient.td - The schedule of cuDNN's gradient -------===//

include "codegen/cuda/library/Library.td"

def Cuda_CudnnAttentionGradientAttr
    : Cuda_CallOnly<"CudnnAttentionGradient", "cudnn_attention_gradient",
                    "false"> {
  let summary = "The gradient of attention by cuDNN.";
}
