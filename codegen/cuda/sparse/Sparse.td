//===- Sparse.td - Schedules of products by sparse matrices ----------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_SparseRowsAttr : Cuda_Schedule<"SparseRows", "sparse_rows"> {
  let summary = "A product of a few rows by a matrix of which two of four "
                "neighbours are kept, as fast as it is read.";
  let parameters = (ins
      Number<"tiles of 16 columns of a warp">:$tiles,
      Number<"parts of k of a warp in shared memory">:$stages,
      Number<"warps that share k">:$split,
      Number<"threads of a block">:$threads);
  let extraClassDeclaration = [{
    bool readsConstantsEarly() const { return true; }
  }];
}

def Cuda_WgmmaSparseAttr : Cuda_Schedule<"WgmmaSparse", "wgmma_sparse"> {
  let summary = "A product of many rows by such a matrix, by TMA and WGMMA "
                "(sm_90a).";
  let parameters = (ins
      Number<"rows of a block: 128 or 256">:$tile_n,
      Number<"pipeline stages in shared memory">:$stages);
  let extraClassDeclaration = [{
    bool readsConstantsEarly() const { return true; }
  }];
}
