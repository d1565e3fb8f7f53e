//===- CublasGemm.td - The schedule of cuBLASLt's product -----------------===//

include "codegen/cuda/library/Library.td"

def Cuda_CublasGemmAttr
    : Cuda_CallOrKernel<"CublasGemm", "cublas_gemm", "true"> {
  let summary = "A matrix product by cuBLASLt.";
}
