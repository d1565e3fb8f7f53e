//===- CudnnConvGradient.td - The schedule of cuDNN's gradients -----------===//

include "codegen/cuda/library/Library.td"

def Cuda_CudnnConvGradientAttr
    : Cuda_CallOnly<"CudnnConvGradient", "cudnn_conv_gradient", "true"> {
  let summary = "A gradient of a convolution by cuDNN.";
}
