// Messages of the operators' verifiers, by family. movement-errors.mlir,
// contraction-errors.mlir and training-errors.mlir have those of their families.
// RUN: frit-opt %s -split-input-file -verify-diagnostics

// Elementwise.

func.func @broadcast(%x: tensor<2x3xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{shapes do not broadcast: 2x3 and 4}}
  %0 = nn.add %x, %y : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @element_types(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error@+1 {{element types differ: 'f32' and 'f16'}}
  %0 = nn.mul %x, %y : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @where_types(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error@+1 {{element types differ: 'f32' and 'f16'}}
  %0 = nn.where %c, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @result_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{gives 'tensor<4xf32>', not 'tensor<5xf32>'}}
  %0 = nn.relu %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @gelu(%x: tensor<4xf32>) {
  // expected-error@+1 {{attribute 'approximate' failed to satisfy constraint: string attribute that is none or tanh}}
  %0 = nn.gelu %x {approximate = "fast"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @shift(%x: tensor<4xui8>) {
  // expected-error@+1 {{attribute 'direction' failed to satisfy constraint: string attribute that is LEFT or RIGHT}}
  %0 = nn.bit_shift %x, %x {direction = "UP"} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return
}

// -----

func.func @operand_type(%x: tensor<4xi32>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of float values, but got 'tensor<4xi32>'}}
  %0 = nn.exp %x : (tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

// Structure.

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{2x3 has 6 elements, but 4 takes 4}}
  %0 = nn.reshape %x {shape = array<i64: 4>} : (tensor<2x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @fusion_inputs(%x: tensor<4xf32>) {
  // expected-error@+1 {{its block's arguments differ from its inputs}}
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<5xf32>):
    nn.yield %a : tensor<5xf32>
  }
  return
}

// -----

func.func @fusion_results(%x: tensor<4xf32>) {
  // expected-error@+1 {{yields values of other types than its results}}
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<4xf32>):
    nn.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @constant_memref() {
  // expected-error@+1 {{gives 'memref<3xf32>', not 'tensor<3xf32>'}}
  %0 = "nn.constant"() {value = dense<0.5> : memref<3xf32>} : () -> tensor<3xf32>
  return
}

// -----

func.func @fusion_without_yield(%x: tensor<4xf32>) {
  // expected-error@+1 {{its block does not end in nn.yield}}
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_returns(%x: tensor<4xf32>) {
  // expected-error@+1 {{its block does not end in nn.yield}}
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    func.return %a : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_of_nothing(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects a non-empty block}}
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
  }
  return
}

// -----

func.func @pack_overlap(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{places 2x3 at 4, after 6 of 12 elements}}
  %0 = nn.pack %x, %x {offsets = array<i64: 0, 4>, size = 12 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<12xf32>
  return
}

// -----

func.func @pack_past_the_end(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{places 2x3 at 9, after 0 of 8 elements}}
  %0 = nn.pack %x {offsets = array<i64: 9>, size = 8 : i64} : (tensor<2x3xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @counted(%x: tensor<2x12xf32>, %n: tensor<i64>) -> tensor<2x13xf32> {
  // expected-error@+1 {{takes 13 of 12 entries}}
  %0 = nn.counted %x, %n {axis = 1 : i64, number = 0 : i64, size = 13 : i64} : (tensor<2x12xf32>, tensor<i64>) -> tensor<2x13xf32>
  return %0 : tensor<2x13xf32>
}

// -----

func.func @guard_condition(%c: tensor<2xi1>) {
  // expected-error@+1 {{its condition is not a single i1 value}}
  nn.guard %c is true() : tensor<2xi1>, () -> () {
    nn.yield
  }
  return
}

// -----

func.func @guard_without_yield(%c: tensor<i1>) {
  // expected-error@+1 {{its block does not end in nn.yield}}
  %0 = nn.guard %c is true() : tensor<i1>, () -> tensor<f32> {
    %1 = nn.constant dense<0.0> : tensor<f32>
  }
  return
}

// -----

func.func @guard_result(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{yields values of other types than its results}}
  %0 = nn.guard %c is true(%x) : tensor<i1>, (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<4xf32>):
    nn.yield %a : tensor<4xf32>
  }
  return
}

// -----

// Reduction.

func.func @reduce_axis(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis 2 is out of range for a tensor of rank 2}}
  %0 = nn.reduce %x {kind = #nn<combiner sum>, axes = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_order(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis 0 comes after axis 1}}
  %0 = nn.reduce_mean %x {axes = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @arg_max(%x: tensor<0x3xf32>) {
  // expected-error@+1 {{dimension 0 is empty, so there is nothing to pick}}
  %0 = nn.arg_max %x : (tensor<0x3xf32>) -> tensor<1x3xi64>
  return
}

// -----

// Window.

func.func @pool_rank(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{a tensor of shape 2x3 has no batch, channel and spatial dimensions}}
  %0 = nn.max_pool %x {window = array<i64>, strides = array<i64>, pads = array<i64>, dilations = array<i64>, shape = array<i64>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pool_shape(%x: tensor<2x3x8xf32>) {
  // expected-error@+1 {{shape has 2 entries for 1 spatial dimensions}}
  %0 = nn.avg_pool %x {window = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, shape = array<i64: 4, 1>} : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @pool_count(%x: tensor<2x3x8xf32>) {
  // expected-error@+1 {{5 windows do not fit into dimension 2 of 2x3x8}}
  %0 = nn.max_pool %x {window = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 2>, dilations = array<i64: 1>, shape = array<i64: 5>} : (tensor<2x3x8xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @pool_most(%x: tensor<2x3x8xf32>) {
  // expected-error@+1 {{9223372036854775807 windows do not fit into dimension 2 of 2x3x8}}
  %0 = nn.max_pool %x {window = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, shape = array<i64: 9223372036854775807>} : (tensor<2x3x8xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @pool_none(%x: tensor<2x3x0xf32>) {
  // expected-error@+1 {{1 windows do not fit into dimension 2 of 2x3x0}}
  %0 = nn.max_pool %x {window = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, shape = array<i64: 1>} : (tensor<2x3x0xf32>) -> tensor<2x3x1xf32>
  return
}

// -----

// Normalization.

func.func @softmax(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{axis 5 is out of range for a tensor of rank 3}}
  %0 = nn.softmax %x {axis = 5 : si64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @layer_norm(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{scale has shape 3, but the normalised dimensions are 4}}
  %0 = nn.layer_norm %x, %s : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @rms_norm(%x: tensor<2x3x4xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{scale has shape 4, but the normalised dimensions are 3x4}}
  %0 = nn.rms_norm %x, %s {axis = 1 : si64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @batch_norm_rank(%x: tensor<2xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{a tensor of rank 1 has no channels}}
  %0 = nn.batch_norm %x, %c, %c, %c, %c : (tensor<2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @batch_norm(%x: tensor<2x4xf32>, %c: tensor<4xf32>, %m: tensor<3xf32>) {
  // expected-error@+1 {{mean has shape 3 for 4 channels}}
  %0 = nn.batch_norm %x, %c, %c, %m, %c : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @moments_width(%x: tensor<2x4x2xf32>) {
  // expected-error@+1 {{moments of shape 2x4x2 are not of parts of 4611686018427387904}}
  %0 = nn.merge_moments %x {width = 4611686018427387904 : si64} : (tensor<2x4x2xf32>) -> tensor<2x1x2xf32>
  return
}

// -----

func.func @gated_columns(%x: tensor<2x24xf32>) {
  // expected-error@+1 {{rows of 2x24 are no multiple of 16 columns}}
  %0 = nn.gate_columns %x {activation = "silu"} : (tensor<2x24xf32>) -> tensor<2x12xf32>
  return
}

// -----

func.func @gates(%x: tensor<2x32xf32>) {
  // expected-error@+1 {{'nn.gate_columns' op attribute 'activation' failed to satisfy constraint: string attribute that is gelu, gelu_tanh or silu}}
  %0 = nn.gate_columns %x {activation = "relu"} : (tensor<2x32xf32>) -> tensor<2x16xf32>
  return
}

// -----

// Selection.

func.func @merge_places(%x: tensor<2x6xf32>) {
  // expected-error@+1 {{cannot merge 7 elements of 2x6}}
  %0 = nn.merge_places %x {count = 7 : i64} : (tensor<2x6xf32>) -> tensor<2x7xi64>
  return
}

// -----

func.func @merge_halves(%x: tensor<2x5xf32>) {
  // expected-error@+1 {{cannot merge 4 elements of 2x5}}
  %0 = nn.merge_places %x {count = 4 : i64} : (tensor<2x5xf32>) -> tensor<2x4xi64>
  return
}

// -----

func.func @keep_bits(%x: tensor<2xi64>, %o: tensor<2x65xi64>) {
  // expected-error@+1 {{bits of shape 2 and what they take out, 2x65, do not fit}}
  %0 = nn.keep_bits %x, %o : (tensor<2xi64>, tensor<2x65xi64>) -> tensor<2xi64>
  return
}

// -----

func.func @search_sorted(%x: tensor<2x6xf32>, %v: tensor<3x4xf32>) {
  // expected-error@+1 {{rows of shape 2x6 and values of shape 3x4 do not fit}}
  %0 = nn.search_sorted %x, %v : (tensor<2x6xf32>, tensor<3x4xf32>) -> tensor<3x4xi64>
  return
}

// -----

// Sizes that no tensor has.

func.func @negative(%x: tensor<1xf32>) {
  // expected-error@+1 {{a size is negative: -3x1}}
  %0 = nn.reshape %x {shape = array<i64: -3, 1>} : (tensor<1xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @large(%x: tensor<1x1xf32>) {
  // expected-error@+1 {{a tensor of shape 4294967296x4294967296 is too large}}
  %0 = nn.expand %x {shape = array<i64: 4294967296, 4294967296>} : (tensor<1x1xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @pad_large(%x: tensor<2xf32>) {
  // expected-error@+1 {{dimension 0 is padded by 9223372036854775807, which is too much}}
  %0 = nn.pad %x {low = array<i64: 9223372036854775807>, high = array<i64: 1>} : (tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{is of type 'none', which is no tensor of static shape}}
"nn.state"() <{sym_name = "s", type = none, members = []}> : () -> ()

// -----

func.func @update(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // expected-error@+1 {{has axis 1 and no offset}}
  %0 = nn.update %x, %x {axis = 1 : i64} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

func.func @infinite(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'alpha' failed to satisfy constraint: 32-bit float attribute that is finite}}
  %0 = nn.elu %x {alpha = 0x7F800000 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @no_flag(%x: tensor<2x3xf32>) -> tensor<2x1xi64> {
  // expected-error@+1 {{attribute 'keepdims' failed to satisfy constraint: 64-bit signed integer attribute that is 0 or 1}}
  %0 = nn.arg_max %x {axis = 1 : si64, keepdims = 2 : si64} : (tensor<2x3xf32>) -> tensor<2x1xi64>
  return %0 : tensor<2x1xi64>
}

// -----

func.func @rounding(%x: tensor<4xf32>) -> tensor<4xf8E8M0FNU> {
  // expected-error@+1 {{attribute 'round' failed to satisfy constraint: string attribute that is up, down or nearest}}
  %0 = nn.cast %x {to = f8E8M0FNU, round = "even"} : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  return %0 : tensor<4xf8E8M0FNU>
}

// -----

func.func @norm(%x: tensor<4x8xf32>, %s: tensor<8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{attribute 'epsilon' failed to satisfy constraint: 32-bit float attribute that is finite that is not negative}}
  %0 = nn.rms_norm %x, %s {epsilon = -1.0 : f32} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
