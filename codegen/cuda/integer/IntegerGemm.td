//===- IntegerGemm.td - The schedule of products of bytes ------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_IntegerGemmAttr : Cuda_Schedule<"IntegerGemm", "integer_gemm"> {
  let summary = "A product or convolution of bytes by mma.sync or WGMMA, with "
                "any elementwise operators after it.";
  let parameters = (ins Number<"rows of a tile">:$tile_m,
                        Number<"columns of a tile">:$tile_n,
                        Number<"rows of a warp">:$warp_m,
                        Number<"columns of a warp">:$warp_n,
                        Number<"steps of k per stage">:$depth,
                        Number<"stages of the pipeline">:$stages,
      NumberOr<"1", "groups of warps that share the steps of a stage">:$split,
      NumberOr<"1", "blocks of a cluster that share the stages">:$cluster,
      NumberOr<"1", "blocks of an SM, which bound registers">:$occupancy,
      Choice<"whether whole warpgroups multiply, by WGMMA">:$wgmma);
  let extraClassDeclaration = "bool readsConstantsEarly() const { return true; }";
}
