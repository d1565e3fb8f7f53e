//===- Row.td - Schedules of reductions along rows -------------------------===//

include "codegen/cuda/target/Schedule.td"

/// When the scales and biases of the last phase are loaded.
def PreloadsWeights : Choice<
  "whether weights are loaded with the row, not after its reductions">;

def Cuda_RowStagedAttr : Cuda_Schedule<"RowStaged", "row_staged"> {
  let summary = "Many short or unaligned rows, staged through shared memory.";
  let parameters = (ins
    Number<"threads that share a row: a power of two of at most 32">:$team,
    NumberOr<"1", "rows of these threads: 1 or 2">:$rows,
    Number<"elements of a row that a thread keeps in registers">:$per_thread,
    Number<"elements of a vector access">:$vector,
    Choice<"whether rows may begin inside a vector">:$skewed,
    Number<"threads of a block">:$threads, PreloadsWeights:$preload);
}

def Cuda_RowColumnsAttr : Cuda_Schedule<"RowColumns", "row_columns"> {
  let summary = "One warp per row, with sums of columns.";
  let parameters = (ins
    Number<"columns that a thread sums">:$per_thread,
    Number<"elements of a vector access">:$vector,
    Number<"threads of a block, which has a part of the rows">:$threads);
}

def Cuda_RowAttr : Cuda_Schedule<"Row", "row"> {
  let summary = "Rows kept in registers.";
  let parameters = (ins
    Number<"threads that share a row; a block has several rows if it is below "
           "`threads`">:$team,
    Number<"elements of a row that a thread keeps">:$per_thread,
    Number<"elements of a vector access">:$vector,
    Number<"threads of a block">:$threads, PreloadsWeights:$preload);
}

def Cuda_RowSharedAttr : Cuda_Schedule<"RowShared", "row_shared"> {
  let summary = "Rows kept in shared memory, one per block.";
  let parameters = (ins
    Number<"elements of a vector access">:$vector,
    Number<"threads of a block, which has one row">:$threads,
    PreloadsWeights:$preload);
}

def Cuda_RowStreamedAttr : Cuda_Schedule<"RowStreamed", "row_streamed"> {
  let summary = "Long rows, read from memory by every pass.";
  let parameters = (ins
    Number<"elements that a thread reads at a time">:$per_thread,
    Number<"elements of a vector access">:$vector,
    Number<"threads of a block, which has one row">:$threads,
    PreloadsWeights:$preload);
}
