// RUN: frit-opt %s --verify-diagnostics --print-cuda=arch=sm_86 -o /dev/null

func.func @float8(%x: tensor<64x64xf8E4M3FN>) {
  // expected-error@+1 {{has no CUDA kernel: the target does not multiply floats of 8 bits (schedule #cuda.integer_gemm<}}
  %0 = nn.fusion(%x) schedule(#cuda.integer_gemm<tile_m = 64, tile_n = 32, warp_m = 32, warp_n = 32, depth = 64, stages = 3>) : (tensor<64x64xf8E4M3FN>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf8E4M3FN>):
    %1 = nn.quantized_conv %a, %a {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>) -> tensor<64x64xf32>
    nn.yield %1 : tensor<64x64xf32>
  }
  return
}
