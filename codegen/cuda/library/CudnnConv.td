//===- CudnnConv.td - The schedule of cuDNN's convolution -----------------===//

include "codegen/cuda/library/Library.td"

def Cuda_CudnnConvAttr : Cuda_CallOrKernel<"CudnnConv", "cudnn_conv", "true"> {
  let summary = "A convolution by cuDNN.";
}
