// RUN: frit-opt %s --split-input-file --verify-diagnostics --print-cuda -o /dev/null

// Contractions and attention with schedules of kernels, or calls of libraries,
// that do not compute them.

func.func @gemm_dots(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>, %w: tensor<64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: norms, statistics and second results need WGMMA (schedule #cuda.}}
  %0:2 = nn.fusion(%x, %y, %w) schedule(#cuda.gemm<tile_m = 64, tile_n = 64>) : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) -> (tensor<64x64xf16>, tensor<64x1xf32>) {
  ^bb0(%x_: tensor<64x64xf16>, %y_: tensor<64x64xf16>, %w_: tensor<64x64xf16>):
    %m = nn.matmul %x_, %y_ : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    %s = nn.row_dots %m, %w_ {width = 64 : si64} : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x1xf32>
    nn.yield %m, %s : tensor<64x64xf16>, tensor<64x1xf32>
  }
  return
}

// -----

func.func @cublas_dots(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>, %w: tensor<64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: the library does not compute its epilogue (schedule #cuda.}}
  %0:2 = nn.fusion(%x, %y, %w) schedule(#cuda.cublas_gemm<fallback = #cuda.gemm<tile_m = 64, tile_n = 64>>) : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) -> (tensor<64x64xf16>, tensor<64x1xf32>) {
  ^bb0(%x_: tensor<64x64xf16>, %y_: tensor<64x64xf16>, %w_: tensor<64x64xf16>):
    %m = nn.matmul %x_, %y_ : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    %s = nn.row_dots %m, %w_ {width = 64 : si64} : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x1xf32>
    nn.yield %m, %s : tensor<64x64xf16>, tensor<64x1xf32>
  }
  return
}

// -----

func.func @conv_sum(%x: tensor<1x8x8x64xf16>, %y: tensor<64x3x3x64xf16>, %w: tensor<1x8x8x64xf16>, %u: tensor<64x1x1x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: two convolutions in one kernel need WGMMA (schedule #cuda.}}
  %0 = nn.fusion(%x, %y, %w, %u) schedule(#cuda.conv<tile_m = 64, tile_n = 64>) : (tensor<1x8x8x64xf16>, tensor<64x3x3x64xf16>, tensor<1x8x8x64xf16>, tensor<64x1x1x64xf16>) -> tensor<1x8x8x64xf16> {
  ^bb0(%x_: tensor<1x8x8x64xf16>, %y_: tensor<64x3x3x64xf16>, %w_: tensor<1x8x8x64xf16>, %u_: tensor<64x1x1x64xf16>):
    %m = nn.conv %x_, %y_ {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x64xf16>, tensor<64x3x3x64xf16>) -> tensor<1x8x8x64xf16>
    %n = nn.conv %w_, %u_ {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x64xf16>, tensor<64x1x1x64xf16>) -> tensor<1x8x8x64xf16>
    %s = nn.add %m, %n : (tensor<1x8x8x64xf16>, tensor<1x8x8x64xf16>) -> tensor<1x8x8x64xf16>
    nn.yield %s : tensor<1x8x8x64xf16>
  }
  return
}

// -----

func.func @gemv_columns(%x: tensor<64x4xf32>, %y: tensor<64x64xf32>) {
  // expected-error@+1 {{has no CUDA kernel: its rows are columns of the operand (schedule #cuda.}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.gemv<columns = 64, threads = 256>) : (tensor<64x4xf32>, tensor<64x64xf32>) -> tensor<4x64xf32> {
  ^bb0(%x_: tensor<64x4xf32>, %y_: tensor<64x64xf32>):
    %m = nn.matmul %x_, %y_ {transpose_a} : (tensor<64x4xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    nn.yield %m : tensor<4x64xf32>
  }
  return
}

// -----

func.func @gemv_turns_plain(%x: tensor<2x64xf16>, %y: tensor<64x4096xf16>) {
  // expected-error@+1 {{has no CUDA kernel: only columns of a transposed matrix take turns (schedule #cuda.}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.gemv<columns = 128, threads = 256, blocks = 2>) : (tensor<2x64xf16>, tensor<64x4096xf16>) -> tensor<2x4096xf16> {
  ^bb0(%x_: tensor<2x64xf16>, %y_: tensor<64x4096xf16>):
    %m = nn.matmul %x_, %y_ : (tensor<2x64xf16>, tensor<64x4096xf16>) -> tensor<2x4096xf16>
    nn.yield %m : tensor<2x4096xf16>
  }
  return
}

// -----

func.func @gemv_turns_split(%x: tensor<2x512xf16>, %y: tensor<4096x512xf16>) {
  // expected-error@+1 {{has no CUDA kernel: warps that share k take no turns (schedule #cuda.}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.gemv<columns = 16, split = 2, threads = 256, blocks = 2>) : (tensor<2x512xf16>, tensor<4096x512xf16>) -> tensor<2x4096xf16> {
  ^bb0(%x_: tensor<2x512xf16>, %y_: tensor<4096x512xf16>):
    %m = nn.matmul %x_, %y_ {transpose_b} : (tensor<2x512xf16>, tensor<4096x512xf16>) -> tensor<2x4096xf16>
    nn.yield %m : tensor<2x4096xf16>
  }
  return
}

// -----

func.func @gemv_stages_alone(%x: tensor<2x512xf16>, %y: tensor<4096x512xf16>) {
  // expected-error@+1 {{has no CUDA kernel: only blocks that take turns have stages, two or more (schedule #cuda.}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.gemv<columns = 256, threads = 512, stages = 4>) : (tensor<2x512xf16>, tensor<4096x512xf16>) -> tensor<2x4096xf16> {
  ^bb0(%x_: tensor<2x512xf16>, %y_: tensor<4096x512xf16>):
    %m = nn.matmul %x_, %y_ {transpose_b} : (tensor<2x512xf16>, tensor<4096x512xf16>) -> tensor<2x4096xf16>
    nn.yield %m : tensor<2x4096xf16>
  }
  return
}

// -----

func.func @gemv_stages_wide(%x: tensor<2x512xf32>, %y: tensor<4096x512xf32>) {
  // expected-error@+1 {{has no CUDA kernel: the tensor cores do not multiply its elements (schedule #cuda.}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.gemv<columns = 256, threads = 512, blocks = 2, stages = 4>) : (tensor<2x512xf32>, tensor<4096x512xf32>) -> tensor<2x4096xf32> {
  ^bb0(%x_: tensor<2x512xf32>, %y_: tensor<4096x512xf32>):
    %m = nn.matmul %x_, %y_ {transpose_b} : (tensor<2x512xf32>, tensor<4096x512xf32>) -> tensor<2x4096xf32>
    nn.yield %m : tensor<2x4096xf32>
  }
  return
}

// -----

func.func @gemv_stages_columns(%x: tensor<2x512xf16>, %y: tensor<4096x512xf16>) {
  // expected-error@+1 {{has no CUDA kernel: a warp with stages has 16 columns (schedule #cuda.}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.gemv<columns = 128, threads = 512, blocks = 2, stages = 4>) : (tensor<2x512xf16>, tensor<4096x512xf16>) -> tensor<2x4096xf16> {
  ^bb0(%x_: tensor<2x512xf16>, %y_: tensor<4096x512xf16>):
    %m = nn.matmul %x_, %y_ {transpose_b} : (tensor<2x512xf16>, tensor<4096x512xf16>) -> tensor<2x4096xf16>
    nn.yield %m : tensor<2x4096xf16>
  }
  return
}

// -----

func.func @gemv_stages_many(%x: tensor<2x512xf16>, %y: tensor<4096x512xf16>) {
  // expected-error@+1 {{has no CUDA kernel: its stages do not fit into shared memory (schedule #cuda.}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.gemv<columns = 256, threads = 512, blocks = 2, stages = 64>) : (tensor<2x512xf16>, tensor<4096x512xf16>) -> tensor<2x4096xf16> {
  ^bb0(%x_: tensor<2x512xf16>, %y_: tensor<4096x512xf16>):
    %m = nn.matmul %x_, %y_ {transpose_b} : (tensor<2x512xf16>, tensor<4096x512xf16>) -> tensor<2x4096xf16>
    nn.yield %m : tensor<2x4096xf16>
  }
  return
}

// -----

func.func @no_fallback(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: only a library computes it (schedule #cuda.}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.cublas_gemm<>) : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16> {
  ^bb0(%x_: tensor<64x64xf16>, %y_: tensor<64x64xf16>):
    %m = nn.matmul %x_, %y_ : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    nn.yield %m : tensor<64x64xf16>
  }
  return
}

// -----

func.func @other_fallback(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: its fallback is another target's (schedule #cuda.}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.cublas_gemm<fallback = #cpu.loops>) : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16> {
  ^bb0(%x_: tensor<64x64xf16>, %y_: tensor<64x64xf16>):
    %m = nn.matmul %x_, %y_ : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    nn.yield %m : tensor<64x64xf16>
  }
  return
}

// -----

func.func @blocks_of_fallback(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it has more blocks than tiles (schedule #cuda.}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.cublas_gemm<fallback = #cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4, blocks = 2>>) : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16> {
  ^bb0(%x_: tensor<64x64xf16>, %y_: tensor<64x64xf16>):
    %m = nn.matmul %x_, %y_ : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    nn.yield %m : tensor<64x64xf16>
  }
  return
}

// -----

func.func @no_product(%x: tensor<64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: nn.relu comes before the contraction (schedule #cuda.}}
  %0 = nn.fusion(%x) schedule(#cuda.cublas_gemm<fallback = #cuda.map<threads = 64>>) : (tensor<64x64xf16>) -> tensor<64x64xf16> {
  ^bb0(%x_: tensor<64x64xf16>):
    %m = nn.relu %x_ : (tensor<64x64xf16>) -> tensor<64x64xf16>
    nn.yield %m : tensor<64x64xf16>
  }
  return
}

// -----

func.func @attention_f32(%x: tensor<2x8x256x64xf32>) {
  // expected-error@+1 {{has no CUDA kernel: cuDNN has no such types, masks or strides (schedule #cuda.}}
  %0 = nn.fusion(%x) schedule(#cuda.cudnn_attention<fallback = #cuda.attention<tile_m = 32, tile_n = 32, rows_per_warp = 16>>) : (tensor<2x8x256x64xf32>) -> tensor<2x8x256x64xf32> {
  ^bb0(%x_: tensor<2x8x256x64xf32>):
    %y = nn.attention %x_, %x_, %x_ {scale = 0.125 : f32} : (tensor<2x8x256x64xf32>, tensor<2x8x256x64xf32>, tensor<2x8x256x64xf32>) -> tensor<2x8x256x64xf32>
    nn.yield %y : tensor<2x8x256x64xf32>
  }
  return
}

// -----

func.func @attention_stats(%x: tensor<2x8x256x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it has statistics as a result (schedule #cuda.}}
  %0:2 = nn.fusion(%x) schedule(#cuda.cudnn_attention<fallback = #cuda.attention<tile_m = 32, tile_n = 32, rows_per_warp = 16>>) : (tensor<2x8x256x64xf16>) -> (tensor<2x8x256x64xf16>, tensor<2x8x256xf32>) {
  ^bb0(%a: tensor<2x8x256x64xf16>):
    %y = nn.attention %a, %a, %a {scale = 0.125 : f32} : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
    %s = nn.attention_stats %a, %a {scale = 0.125 : f32} : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256xf32>
    nn.yield %y, %s : tensor<2x8x256x64xf16>, tensor<2x8x256xf32>
  }
  return
}

// -----

func.func @gradient_of_deltas(%x: tensor<2x8x256x64xf16>, %s: tensor<2x8x256xf32>) {
  // expected-error@+1 {{has no CUDA kernel: cuDNN computes the sums of y · dy from y itself (schedule #cuda.}}
  %0 = nn.fusion(%x, %s) schedule(#cuda.cudnn_attention_gradient<>) : (tensor<2x8x256x64xf16>, tensor<2x8x256xf32>) -> tensor<2x256x24x64xf16> {
  ^bb0(%a: tensor<2x8x256x64xf16>, %b: tensor<2x8x256xf32>):
    %g = nn.attention_grad %a, %a, %a, %b, %a, %b {scale = 0.125 : f32} : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256xf32>, tensor<2x8x256x64xf16>, tensor<2x8x256xf32>) -> tensor<2x256x24x64xf16>
    nn.yield %g : tensor<2x256x24x64xf16>
  }
  return
}

// -----

func.func @gradient_sums(%x: tensor<2x2x32x64xf16>, %s: tensor<2x2x32xf32>) {
  // expected-error@+1 {{has no CUDA kernel: cuDNN sums no columns of the gradient (schedule #cuda.}}
  %0:2 = nn.fusion(%x, %s) schedule(#cuda.cudnn_attention_gradient<>) : (tensor<2x2x32x64xf16>, tensor<2x2x32xf32>) -> (tensor<2x32x6x64xf16>, tensor<4x384xf32>) {
  ^bb0(%c: tensor<2x2x32x64xf16>, %d: tensor<2x2x32xf32>):
    %g = nn.attention_grad %c, %c, %c, %c, %c, %d {scale = 0.125 : f32} : (tensor<2x2x32x64xf16>, tensor<2x2x32x64xf16>, tensor<2x2x32x64xf16>, tensor<2x2x32x64xf16>, tensor<2x2x32x64xf16>, tensor<2x2x32xf32>) -> tensor<2x32x6x64xf16>
    %r = nn.reshape %g {shape = array<i64: 64, 384>} : (tensor<2x32x6x64xf16>) -> tensor<64x384xf16>
    %p = nn.column_sums %r {height = 16 : si64} : (tensor<64x384xf16>) -> tensor<4x384xf32>
    nn.yield %g, %p : tensor<2x32x6x64xf16>, tensor<4x384xf32>
  }
  return
}

// -----

func.func @together(%x: tensor<1x640xf16>, %c: tensor<8x10x512xui8>, %s: tensor<8x10x16xf16>) {
  // expected-error@+1 {{has no CUDA kernel: its warps' shares of k do not consist of the tiles that are copied together (schedule #cuda.}}
  %0 = nn.fusion(%x, %c, %s) schedule(#cuda.rows_gemm<tiles = 1, stages = 2, split = 2, threads = 64, together = 2>) : (tensor<1x640xf16>, tensor<8x10x512xui8>, tensor<8x10x16xf16>) -> tensor<1x128xf16> {
  ^bb0(%x_: tensor<1x640xf16>, %c_: tensor<8x10x512xui8>, %s_: tensor<8x10x16xf16>):
    %w = nn.dequantize %c_, %s_ {code = "int4", tiled, to = f16} : (tensor<8x10x512xui8>, tensor<8x10x16xf16>) -> tensor<128x640xf16>
    %m = nn.matmul %x_, %w {transpose_b} : (tensor<1x640xf16>, tensor<128x640xf16>) -> tensor<1x128xf16>
    nn.yield %m : tensor<1x128xf16>
  }
  return
}

// -----

func.func @widened(%x: tensor<1x640xf16>, %c: tensor<8x10x512xui8>, %s: tensor<8x10x16xf16>) {
  // expected-error@+1 {{has no CUDA kernel: only codes that meet rows of bf16 become numbers (schedule #cuda.}}
  %0 = nn.fusion(%x, %c, %s) schedule(#cuda.rows_gemm<tiles = 1, stages = 2, split = 2, threads = 64, widens = true>) : (tensor<1x640xf16>, tensor<8x10x512xui8>, tensor<8x10x16xf16>) -> tensor<1x128xf16> {
  ^bb0(%x_: tensor<1x640xf16>, %c_: tensor<8x10x512xui8>, %s_: tensor<8x10x16xf16>):
    %w = nn.dequantize %c_, %s_ {code = "int4", tiled, to = f16} : (tensor<8x10x512xui8>, tensor<8x10x16xf16>) -> tensor<128x640xf16>
    %m = nn.matmul %x_, %w {transpose_b} : (tensor<1x640xf16>, tensor<128x640xf16>) -> tensor<1x128xf16>
    nn.yield %m : tensor<1x128xf16>
  }
  return
}

// -----

func.func @shared(%x: tensor<4x640xbf16>, %c: tensor<8x10x512xui8>, %s: tensor<8x10x16xf16>) {
  // expected-error@+1 {{has no CUDA kernel: only rows that are copied as they are, in equal parts, are shared, by a multiple of the blocks (schedule #cuda.}}
  %0 = nn.fusion(%x, %c, %s) schedule(#cuda.rows_gemm<tiles = 1, stages = 2, split = 4, threads = 128, widens = true, sharing = 2>) : (tensor<4x640xbf16>, tensor<8x10x512xui8>, tensor<8x10x16xf16>) -> tensor<4x128xbf16> {
  ^bb0(%x_: tensor<4x640xbf16>, %c_: tensor<8x10x512xui8>, %s_: tensor<8x10x16xf16>):
    %w = nn.dequantize %c_, %s_ {code = "int4", tiled, to = bf16} : (tensor<8x10x512xui8>, tensor<8x10x16xf16>) -> tensor<128x640xbf16>
    %m = nn.matmul %x_, %w {transpose_b} : (tensor<4x640xbf16>, tensor<128x640xbf16>) -> tensor<4x128xbf16>
    nn.yield %m : tensor<4x128xbf16>
  }
  return
}

// -----

func.func @rounds(%x: tensor<6x512xf16>, %y: tensor<1024x512xf16>) {
  // expected-error@+1 {{has no CUDA kernel: products of numbers have neither rounds nor tiles that are copied together (schedule #cuda.}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.rows_gemm<tiles = 2, stages = 1, split = 2, threads = 128, rounds = 2>) : (tensor<6x512xf16>, tensor<1024x512xf16>) -> tensor<6x1024xf16> {
  ^bb0(%x_: tensor<6x512xf16>, %y_: tensor<1024x512xf16>):
    %m = nn.matmul %x_, %y_ {transpose_b} : (tensor<6x512xf16>, tensor<1024x512xf16>) -> tensor<6x1024xf16>
    nn.yield %m : tensor<6x1024xf16>
  }
  return
}
