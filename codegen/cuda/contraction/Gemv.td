//===- Gemv.td - The schedule of products of a few rows --------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_GemvAttr : Cuda_EarlyContractionSchedule<"Gemv", "gemv"> {
  let summary = "A product of a few rows, as fast as its matrix is read.";
  let parameters = (ins Number<"columns of a block">:$columns,
      NumberOr<"1", "warps that share k, if the matrix is transposed">:$split,
      Number<"threads of a block">:$threads);
}
