//===- Transpose.td - Schedules of transposes ------------------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_TransposeRunsAttr : Cuda_Schedule<"TransposeRuns", "transpose_runs"> {
  let summary = "Short contiguous runs, moved in units of 1 to 8 bytes.";
  let parameters = (ins
    Number<"bytes of a unit">:$unit,
    Number<"rows of a tile">:$tile_rows, Number<"columns of a tile">:$tile_cols,
    Choice<"whether each line of a tile begins at a vector boundary">:$aligned);
}

def Cuda_TransposeSkewedFlatAttr
    : Cuda_Schedule<"TransposeSkewedFlat", "transpose_skewed_flat"> {
  let summary = "16-bit matrices with odd sides; a tile spans all rows.";
  let parameters = (ins
    Number<"threads of a block">:$threads,
    Number<"blocks that share an SM, which bounds a thread's registers"
          >:$occupancy);
}

def Cuda_TransposeSkewedAttr
    : Cuda_Schedule<"TransposeSkewed", "transpose_skewed"> {
  let summary = "16-bit matrices with odd sides, read and written by vectors.";
  let description = [{
    Lines begin inside vectors. A tile is skewed: its lines are shifted against
    each other so that each consists of whole vectors.
  }];
  let parameters = (ins
    Number<"rows that a tile writes: 80, 96 or 112">:$rows,
    Number<"blocks that share an SM, which bounds a thread's registers"
          >:$occupancy);
}

def Cuda_TransposeFlatAttr : Cuda_Schedule<"TransposeFlat", "transpose_flat"> {
  let summary = "Matrices with a short side, which tiles span.";
  let parameters = (ins
    Number<"rows or columns of a tile along the long side">:$length,
    Number<"elements of the short side">:$width,
    Number<"elements of a vector load">:$load_vector,
    Number<"elements of a vector store">:$store_vector,
    Choice<"whether rows are the long side">:$tall);
}

def Cuda_TransposeBytesAttr
    : Cuda_Schedule<"TransposeBytes", "transpose_bytes"> {
  let summary = "Large matrices of bytes with sides of whole vectors.";
  let parameters = (ins
    Number<"blocks that share an SM, which bounds a thread's registers"
          >:$occupancy);
}

def Cuda_TransposeAttr : Cuda_Schedule<"Transpose", "transpose"> {
  let summary = "Tiles through shared memory.";
  let parameters = (ins
    Number<"rows of a tile">:$tile_rows, Number<"columns of a tile">:$tile_cols,
    Number<"elements of a vector load">:$load_vector,
    Number<"elements of a vector store">:$store_vector,
    NumberOr<"1", "elements per word of shared memory">:$word,
    Choice<"whether a tile's rows are contiguous in the input">:$flat_load,
    Choice<"whether its columns are contiguous in the output">:$flat_store);
}
