//===- CudaDialect.td - The schedules of NVIDIA GPUs -----------------------===//
//
// Attributes only: each is the schedule of a skeleton or of a library's call.
// If several can run a fusion, the one defined first is the default.
//
//===----------------------------------------------------------------------===//

include "codegen/cuda/custom/Custom.td"
include "codegen/cuda/attention/Attention.td"
include "codegen/cuda/attention/AttentionGradient.td"
include "codegen/cuda/integer/ByteRows.td"
include "codegen/cuda/integer/WgmmaBytes.td"
include "codegen/cuda/integer/IntegerGemm.td"
include "codegen/cuda/rows/Rows.td"
include "codegen/cuda/sparse/Sparse.td"
include "codegen/cuda/convolution/ConvB2b.td"
include "codegen/cuda/contraction/Wgmma.td"
include "codegen/cuda/library/CublasGemm.td"
include "codegen/cuda/library/CudnnConv.td"
include "codegen/cuda/library/CudnnConvGradient.td"
include "codegen/cuda/library/CudnnAttention.td"
include "codegen/cuda/library/CudnnAttentionGradient.td"
include "codegen/cuda/contraction/Tiles.td"
include "codegen/cuda/convolution/Depthwise.td"
include "codegen/cuda/contraction/MergeMoments.td"
include "codegen/cuda/reduction/SegmentSum.td"
include "codegen/cuda/reduction/GroupNorm.td"
include "codegen/cuda/reduction/Row.td"
include "codegen/cuda/reduction/Column.td"
include "codegen/cuda/transpose/Transpose.td"
include "codegen/cuda/memory/Map.td"
