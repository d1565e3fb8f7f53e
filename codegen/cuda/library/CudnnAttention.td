//===- CudnnAttention.td - The schedule of cuDNN's attention --------------===//

include "codegen/cuda/library/Library.td"

def Cuda_CudnnAttentionAttr
    : Cuda_CallOrKernel<"CudnnAttention", "cudnn_attention", "false"> {
  let summary = "Attention by cuDNN.";
}
