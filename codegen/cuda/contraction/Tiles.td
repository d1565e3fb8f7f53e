//===- Tiles.td - Schedules of products for every architecture -------------===//

include "codegen/cuda/target/Schedule.td"

class Cuda_TileSchedule<string name, string mnemonic_>
    : Cuda_ContractionSchedule<name, mnemonic_> {
  let parameters = (ins Number<"rows of a tile">:$tile_m,
                        Number<"columns of a tile">:$tile_n);
}

def Cuda_GemmAttr : Cuda_TileSchedule<"Gemm", "gemm"> {
  let summary = "A matrix product by mma.sync or multiply-adds.";
}

def Cuda_ConvAttr : Cuda_TileSchedule<"Conv", "conv"> {
  let summary = "A convolution as an implicit matrix product.";
}
