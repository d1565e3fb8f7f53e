//===- Transpose.td - Schedules of transposes ------------------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_TransposeRunsAttr : Cuda_Schedule<"TransposeRuns", "transpose_runs"> {
  let summary = "Short rows that stay together, moved in units of 1 to 8 bytes.";
  let parameters = (ins
    Number<"bytes of a unit">:$unit,
    Number<"rows of a tile">:$tile_rows, Number<"columns of a tile">:$tile_cols,
    Choice<"whether every line of a tile begins at a vector">:$aligned);
}

def Cuda_TransposeSkewedFlatAttr
    : Cuda_Schedule<"TransposeSkewedFlat", "transpose_skewed_flat"> {
  let summary = "16-bit matrices with odd sides of which a tile has all rows.";
  let parameters = (ins
    Number<"threads of a block">:$threads,
    Number<"blocks that share an SM, which bounds a thread's registers"
          >:$occupancy);
}

def Cuda_TransposeSkewedAttr
    : Cuda_Schedule<"TransposeSkewed", "transpose_skewed"> {
  let summary = "16-bit matrices with odd sides, read and written by vectors.";
  let description = [{
    Lines begin inside vectors; a tile is skewed so that each of its lines is
    whole ones.
  }];
  let parameters = (ins
    Number<"rows that a tile writes">:$rows,
    Number<"blocks that share an SM, which bounds a thread's registers"
          >:$occupancy);
}

def Cuda_TransposeFlatAttr : Cuda_Schedule<"TransposeFlat", "transpose_flat"> {
  let summary = "Matrices with a short side, of which tiles have all.";
  let parameters = (ins
    Number<"rows or columns of a tile along the long side">:$length,
    Number<"elements of the short side">:$width,
    Number<"elements of a vector that is read">:$load_vector,
    Number<"elements of a vector that is written">:$store_vector,
    Choice<"whether rows are the long side">:$tall);
}

def Cuda_TransposeAttr : Cuda_Schedule<"Transpose", "transpose"> {
  let summary = "Tiles through shared memory.";
  let parameters = (ins
    Number<"rows of a tile">:$tile_rows, Number<"columns of a tile">:$tile_cols,
    Number<"elements of a vector that is read">:$load_vector,
    Number<"elements of a vector that is written">:$store_vector,
    NumberOr<"1", "elements of a word of the tile">:$word,
    Choice<"whether a tile's rows are one run where they are read">:$flat_load,
    Choice<"whether its columns are one run where they are written"
          >:$flat_store);
}
