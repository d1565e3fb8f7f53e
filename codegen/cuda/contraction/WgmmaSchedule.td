//===- WgmmaSchedule.td - Base of schedules of WGMMA products -------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMASCHEDULE_TD
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMASCHEDULE_TD

include "codegen/cuda/target/Schedule.td"

/// Tiles of products by TMA and WGMMA. A pipeline stage has 128 bytes along k.
class Cuda_WgmmaSchedule<string name, string mnemonic_>
    : Cuda_EarlyContractionSchedule<name, mnemonic_> {
  let parameters = (ins
    Number<"rows of a tile: 64, 128 or 192">:$tile_m,
    Number<"columns of a tile: a multiple of 64">:$tile_n,
    Number<"pipeline stages in shared memory">:$stages,
    NumberOr<"1", "blocks of a cluster, which share B's tiles by multicast"
            >:$cluster,
    NumberOr<"1", "blocks that divide a tile's range of k (split-K)">:$split,
    NumberOr<"1", "blocks that share an SM: 1 or 2">:$occupancy,
    Choice<"whether each consumer warpgroup has tiles of its own (ping-pong)"
          >:$pingpong,
    NumberOr<"1", "rows of tiles that are visited together, so that their "
                  "operands come from L2">:$raster,
    Blocks:$blocks);
}

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMASCHEDULE_TD
