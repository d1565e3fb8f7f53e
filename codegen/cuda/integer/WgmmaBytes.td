//===- WgmmaBytes.td - Schedules of products of bytes by WGMMA ------------===//

include "codegen/cuda/contraction/WgmmaSchedule.td"

def Cuda_WgmmaBytesAttr : Cuda_WgmmaSchedule<"WgmmaBytes", "wgmma_bytes"> {
  let summary = "A product or convolution of bytes by TMA and WGMMA (sm_90a), "
                "with any elementwise operators after it.";
  let extraClassDeclaration = "bool readsConstantsEarly() const { return true; }";
}
