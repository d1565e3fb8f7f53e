//===- Rows.td - Schedules of products of a few rows
//-----------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_GemvAttr : Cuda_EarlyContractionSchedule<"Gemv", "gemv"> {
  let summary = "A product of a few rows, as fast as its matrix is read.";
  let parameters = (ins Number<"columns of a block">:$columns,
      NumberOr<"1", "warps that share k, if the matrix is transposed">:$split,
      Number<"threads of a block">:$threads, Blocks:$blocks,
      NumberOr<"0", "parts of k of a warp in shared memory, of 16-bit numbers, "
                    "if blocks take turns; 0: in registers">:$stages);
}

def Cuda_RowsGemmAttr : Cuda_Schedule<"RowsGemm", "rows_gemm"> {
  let summary = "A product of a few rows, or of several blocks of them, by "
                "numbers or codes, as fast as these are read.";
  let parameters = (ins Number<"tiles of 16 columns of a warp">:$tiles,
      Number<"parts of k of a warp in shared memory">:$stages,
      Number<"warps that share k">:$split,
      Number<"threads of a block">:$threads,
      NumberOr<"16", "rows of A of a block, if it has so many">:$rows,
      NumberOr<"1", "groups of tiles that a warp multiplies one after another, "
                    "of codes">:$rounds,
      NumberOr<"1", "tiles along k of a part, of codes: 1, 2 or 4">:$together,
      Choice<"codes become numbers of A's type, instead of A what codes are "
             "multiplied by">:$widens,
      NumberOr<"32", "KiB of sums of rounds in shared memory, of codes">:$sums,
      NumberOr<"1", "blocks of a cluster that copy rows of A for each other, if "
                    "these are copied as they are">:$sharing,
      NumberOr<"0", "KiB of shared memory that a block has at least, of codes: "
                    "so many that an SM has one block">:$shared);
  let extraClassDeclaration = [{
    bool readsConstantsEarly() const { return true; }
  }];
}

def Cuda_DequantizeAttr : Cuda_Schedule<"Dequantize", "dequantize"> {
  let summary = "The numbers of codes, for products of many rows.";
  let parameters = (ins Number<"threads of a block">:$threads);
}
