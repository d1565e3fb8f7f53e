//===- SegmentSum.td - The schedule of sums by segment ---------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_SegmentSumAttr : Cuda_Schedule<"SegmentSum", "segment_sum"> {
  let summary = "Sums of rows by segment, with several threads per segment.";
  let parameters = (ins Number<"adjacent columns of a thread">:$vector,
                        Number<"threads of a block">:$threads);
}
