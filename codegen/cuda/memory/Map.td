//===- Map.td - Schedules of elementwise fusions and short reductions ------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_StripsAttr : Cuda_Schedule<"Strips", "strips"> {
  let summary = "Overlapping windows: a thread computes outputs of one column.";
  let parameters = (ins
    Number<"dimension of the output that a strip runs along">:$dim,
    Number<"outputs of a strip: 2 to 5">:$length,
    Number<"adjacent elements of a thread">:$vector,
    Number<"threads of a block">:$threads,
    NumberOr<"0", "blocks that share an SM, which bounds a thread's registers; "
                  "0 leaves them to the compiler">:$occupancy,
    Choice<"whether a block has 128 bytes of channels of many pixels, not all "
           "channels of few">:$split);
}

def Cuda_WindowsAttr : Cuda_Schedule<"Windows", "windows"> {
  let summary = "Overlapping windows: a thread computes neighbours in a row.";
  let parameters = (ins Number<"outputs of a thread">:$width,
                        Number<"threads of a block">:$threads);
}

def Cuda_MapAttr : Cuda_Schedule<"Map", "map"> {
  let summary = "Elementwise, with contiguous accesses.";
  let description = [{
    The number of elements is a kernel parameter, so tensors of any size share
    its code.
  }];
  let parameters = (ins
    NumberOr<"1", "adjacent elements that a thread accesses as one vector"
            >:$vector,
    NumberOr<"1", "elements of a thread that are `threads` apart">:$interleave,
    Number<"threads of a block">:$threads);
}

def Cuda_GenericAttr : Cuda_Schedule<"Generic", "generic"> {
  let summary = "Any fusion: a thread per output element, reductions as loops.";
  let parameters = (ins
    NumberOr<"1", "adjacent elements of a thread">:$vector,
    NumberOr<"1", "elements of a thread that are `threads` apart">:$interleave,
    Number<"threads of a block">:$threads);
}
