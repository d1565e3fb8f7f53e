//===- ByteRows.td - The schedule of byte_rows -----------------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_ByteRowsAttr : Cuda_Schedule<"ByteRows", "byte_rows"> {
  let summary = "A convolution of few channels of bytes whose rows lie in "
                "shared memory (sm_90a), with any elementwise operators after "
                "it.";
  let parameters = (ins Number<"tiles whose rows of x are in shared memory"
                              >:$stages,
                        Number<"blocks per SM">:$occupancy,
                        Blocks:$blocks);
  let extraClassDeclaration = "bool readsConstantsEarly() const { return true; }";
}
