//===- Attention.td - Schedules of attention -------------------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_WgmmaAttentionAttr
    : Cuda_Schedule<"WgmmaAttention", "wgmma_attention"> {
  let summary = "Attention in one pass over the keys by TMA and WGMMA (sm_90a).";
  let parameters = (ins
    Number<"queries of a tile: a multiple of 64">:$tile_m,
    Number<"keys of a tile: a multiple of 16">:$tile_n,
    NumberOr<"1", "warpgroups that divide the keys of a tile of 64 queries: at "
                  "most 3">:$splits,
    Number<"tiles of keys in shared memory">:$stages,
    NumberOr<"1", "blocks that share an SM">:$occupancy,
    Blocks:$blocks);
}

def Cuda_AttentionAttr : Cuda_Schedule<"Attention", "attention"> {
  let summary = "Attention in one pass over the keys by mma.sync.";
  let parameters = (ins
    Number<"queries of a tile">:$tile_m, Number<"keys of a tile">:$tile_n,
    NumberOr<"1", "groups of warps that divide a tile's keys">:$splits,
    Number<"queries of a warp: 16, 32 or, as columns of products, 8">:$rows_per_warp,
    NumberOr<"1", "blocks of a cluster, which divide the keys: 1 to 8">:$cluster,
    NumberOr<"2", "tiles of keys of all groups in shared memory: 1 to 4">:$stages);
}
