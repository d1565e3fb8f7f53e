//===- CudaDialect.td - The schedules of NVIDIA GPUs -----------------------===//
//
// Attributes only: each is a skeleton's schedule. Where several may run a
// fusion, the one that is defined first comes first.
//
//===----------------------------------------------------------------------===//

include "codegen/cuda/attention/Attention.td"
include "codegen/cuda/contraction/ConvB2b.td"
include "codegen/cuda/contraction/Wgmma.td"
include "codegen/cuda/contraction/Library.td"
include "codegen/cuda/contraction/Tiles.td"
include "codegen/cuda/contraction/Depthwise.td"
include "codegen/cuda/contraction/MergeMoments.td"
include "codegen/cuda/memory/Row.td"
include "codegen/cuda/memory/Column.td"
include "codegen/cuda/memory/Transpose.td"
include "codegen/cuda/memory/Map.td"
