//===- Column.td - Schedules of reductions along columns -------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_ColumnSharedAttr : Cuda_Schedule<"ColumnShared", "column_shared"> {
  let summary = "Columns kept in shared memory, 128 bytes wide per block.";
  let parameters = (ins
    Number<"threads that share a column">:$team,
    Number<"adjacent columns of a thread">:$vector,
    Number<"threads of a block">:$threads,
    Number<"blocks that share an SM, which bounds a thread's registers"
          >:$occupancy);
}

def Cuda_ColumnAttr : Cuda_Schedule<"Column", "column"> {
  let summary = "Columns read by threads, kept in registers if short.";
  let parameters = (ins
    Number<"threads that share a column">:$team,
    NumberOr<"0", "elements of a column that a thread keeps in registers; 0 if "
                  "every reduction reads them again">:$per_thread,
    Number<"adjacent columns of a thread">:$vector,
    Number<"threads of a block">:$threads,
    Choice<"one pass computes all reductions and the outputs with an element "
           "per column, none of which needs a reduction's result">:$joint);
  let extraClassDeclaration = "bool takesBatches() const { return true; }";
}
