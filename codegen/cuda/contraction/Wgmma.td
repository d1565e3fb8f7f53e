//===- Wgmma.td - Schedules of WGMMA products -----------------------------===//

include "codegen/cuda/contraction/WgmmaSchedule.td"

def Cuda_WgmmaGemmAttr : Cuda_WgmmaSchedule<"WgmmaGemm", "wgmma_gemm"> {
  let summary = "A matrix product by TMA and WGMMA (sm_90a).";
}

def Cuda_WgmmaConvAttr : Cuda_WgmmaSchedule<"WgmmaConv", "wgmma_conv"> {
  let summary = "A convolution by im2col TMA and WGMMA (sm_90a).";
}
