// RUN: frit-opt %s --float8-products --cse -split-input-file | FileCheck %s
// RUN: frit-opt %s --float8-products=gradients=e4m3 --cse -split-input-file | FileCheck %s --check-prefix=E4M3
// RUN: frit-opt %s --float8-products=gradients=bf16 --cse -split-input-file | FileCheck %s --check-prefix=BF16

// Between the first and the last layer, the weights of each output and the
// inputs of each row share a scale. The gradient by the input multiplies the
// same codes of weights; that of the weights multiplies both codes, transposed,
// of which those of the gradient have their exponents lowered by the scales of
// the row.
// CHECK-LABEL: func.func @main
// CHECK:         %[[W:.*]] = nn.cast %arg2 {to = f32}
// CHECK:         %[[MOST:.*]] = nn.constant dense<4.480000e+02>
// CHECK:         %[[AW:.*]] = nn.abs %[[W]]
// CHECK:         %[[MW:.*]] = nn.reduce %[[AW]] {axes = array<i64: 1>, kind = #nn<combiner max>}
// CHECK:         %[[LEAST:.*]] = nn.constant dense<7.88860905E-31>
// CHECK:         %[[DW:.*]] = nn.div %[[MW]], %[[MOST]]
// CHECK:         %[[AT:.*]] = nn.max %[[DW]], %[[LEAST]] : (tensor<64x1xf32>
// CHECK:         %[[PT:.*]] = nn.cast %[[AT]] {to = f8E8M0FNU}
// CHECK:         %[[T:.*]] = nn.cast %[[PT]] {to = f32}
// CHECK:         %[[ONE:.*]] = nn.constant dense<1.000000e+00>
// CHECK:         %[[TI:.*]] = nn.div %[[ONE]], %[[T]]
// CHECK:         %[[WT:.*]] = nn.mul %[[W]], %[[TI]]
// CHECK:         %[[V:.*]] = nn.cast %[[WT]] {to = f8E4M3FN}
// CHECK:         %[[H:.*]] = nn.matmul %arg0, %arg1
// CHECK:         %[[X:.*]] = nn.cast %[[H]] {to = f32}
// CHECK:         nn.reduce %{{.*}} {axes = array<i64: 2>, kind = #nn<combiner max>}
// CHECK:         %[[AS:.*]] = nn.max %{{.*}}, %[[LEAST]] : (tensor<2x8x1xf32>
// CHECK:         %[[PS:.*]] = nn.cast %[[AS]] {to = f8E8M0FNU}
// CHECK:         %[[S:.*]] = nn.cast %[[PS]] {to = f32}
// CHECK:         %[[SI:.*]] = nn.div %[[ONE]], %[[S]]
// CHECK:         %[[XS:.*]] = nn.mul %[[X]], %[[SI]]
// CHECK:         %[[Q:.*]] = nn.cast %[[XS]] {to = f8E4M3FN}
// CHECK:         %[[ROWS:.*]] = nn.reshape %[[Q]] {shape = array<i64: 16, 32>}
// CHECK:         %[[SUMS:.*]] = nn.quantized_conv %[[ROWS]], %[[V]] {
// CHECK:         %[[TV:.*]] = nn.reshape %[[T]] {shape = array<i64: 64>}
// CHECK:         %[[Y0:.*]] = nn.mul %[[SUMS]], %[[TV]]
// CHECK:         %[[SV:.*]] = nn.reshape %[[S]] {shape = array<i64: 16, 1>}
// CHECK:         %[[Y1:.*]] = nn.mul %[[Y0]], %[[SV]]
// CHECK:         %[[Y2:.*]] = nn.cast %[[Y1]] {storage, to = bf16}
// CHECK:         %[[Y:.*]] = nn.reshape %[[Y2]] {shape = array<i64: 2, 8, 64>}
// CHECK:         nn.matmul %[[Y]], %arg3
// CHECK:         %[[DY:.*]] = nn.matmul %{{.*}}, %arg3 {transpose_b}
// CHECK:         %[[G:.*]] = nn.cast %[[DY]] {to = f32}
// CHECK:         %[[E:.*]] = nn.mul %[[G]], %[[TV]]
// CHECK:         nn.constant dense<5.734400e+04>
// CHECK:         %[[AU:.*]] = nn.max %{{.*}}, %[[LEAST]] : (tensor<2x8x1xf32>
// CHECK:         %[[PU:.*]] = nn.cast %[[AU]] {to = f8E8M0FNU}
// CHECK:         %[[U:.*]] = nn.cast %[[PU]] {to = f32}
// CHECK:         %[[UI:.*]] = nn.div %[[ONE]], %[[U]]
// CHECK:         %[[EU:.*]] = nn.mul %[[E]], %[[UI]]
// CHECK:         %[[R:.*]] = nn.cast %[[EU]] {to = f8E5M2}
// CHECK:         %[[RR:.*]] = nn.reshape %[[R]] {shape = array<i64: 16, 64>}
// CHECK:         %[[VT:.*]] = nn.transpose %[[V]] {perm = array<i64: 1, 0>}
// CHECK:         %[[DX:.*]] = nn.quantized_conv %[[RR]], %[[VT]] {
// CHECK:         %[[UV:.*]] = nn.reshape %[[U]] {shape = array<i64: 16, 1>}
// CHECK:         nn.mul %[[DX]], %[[UV]]
// CHECK:         %[[F:.*]] = nn.mul %[[SV]], %[[UV]]
// CHECK:         %[[M:.*]] = nn.reduce %[[F]] {axes = array<i64: 0>, kind = #nn<combiner max>}
// CHECK:         %[[BYTES:.*]] = nn.bit_cast %[[RR]] {to = ui8}
// CHECK:         %[[BITS:.*]] = nn.cast %[[BYTES]] {to = i32}
// CHECK:         %[[FB:.*]] = nn.bit_cast %[[F]] {to = i32}
// CHECK:         %[[MB:.*]] = nn.bit_cast %[[M]] {to = i32}
// CHECK:         %[[BY:.*]] = nn.sub %[[MB]], %[[FB]]
// CHECK:         %[[LOWER:.*]] = nn.bit_shift %[[BY]], %{{.*}} {direction = "RIGHT"}
// CHECK:         %[[SIZE:.*]] = nn.bitwise_and %[[BITS]]
// CHECK:         %[[LESS:.*]] = nn.sub %[[SIZE]], %[[LOWER]]
// CHECK:         %[[MORE:.*]] = nn.max %[[LESS]]
// CHECK:         %[[SIGN:.*]] = nn.bitwise_and %[[BITS]]
// CHECK:         %[[ALL:.*]] = nn.bitwise_or %[[MORE]], %[[SIGN]]
// CHECK:         %[[NARROW:.*]] = nn.cast %[[ALL]] {{.*}}to = ui8}
// CHECK:         %[[LOW:.*]] = nn.bit_cast %[[NARROW]] {to = f8E5M2}
// CHECK:         %[[GT:.*]] = nn.transpose %[[LOW]] {perm = array<i64: 1, 0>}
// CHECK:         %[[QT:.*]] = nn.transpose %[[ROWS]] {perm = array<i64: 1, 0>}
// CHECK:         %[[DWS:.*]] = nn.quantized_conv %[[GT]], %[[QT]] {
// CHECK:         %[[MR:.*]] = nn.reshape %[[M]] {shape = array<i64>}
// CHECK:         %[[DW1:.*]] = nn.mul %[[DWS]], %[[MR]]
// CHECK:         nn.div %[[DW1]], %[[T]]
// CHECK-NOT:     nn.matmul {{.*}}transpose_a
// E4M3-LABEL:    func.func @main
// E4M3:          nn.cast %{{.*}}to = f8E4M3FN} : (tensor<2x8x64xf32>)
// E4M3:          nn.matmul %{{.*}} {transpose_a}
// E4M3-NOT:      f8E5M2
// BF16-LABEL:    func.func @main
// BF16:          nn.quantized_conv
// BF16:          nn.matmul %{{.*}}, %arg2
// BF16-NOT:      nn.quantized_conv
nn.state @a : tensor<32x32xbf16> []
nn.state @b : tensor<64x32xbf16> []
nn.state @c : tensor<64x32xbf16> []
func.func @main(%x: tensor<2x8x32xbf16>, %a: tensor<32x32xbf16> {nn.state = @a}, %b: tensor<64x32xbf16> {nn.state = @b}, %c: tensor<64x32xbf16> {nn.state = @c}) -> (tensor<bf16>, tensor<2x8x32xbf16>, tensor<64x32xbf16>) {
  %h = nn.matmul %x, %a : (tensor<2x8x32xbf16>, tensor<32x32xbf16>) -> tensor<2x8x32xbf16>
  %y = nn.matmul %h, %b {transpose_b} : (tensor<2x8x32xbf16>, tensor<64x32xbf16>) -> tensor<2x8x64xbf16>
  %z = nn.matmul %y, %c : (tensor<2x8x64xbf16>, tensor<64x32xbf16>) -> tensor<2x8x32xbf16>
  %s = nn.reduce %z {kind = #nn<combiner sum>, axes = array<i64: 0, 1, 2>} : (tensor<2x8x32xbf16>) -> tensor<1x1x1xbf16>
  %loss = nn.reshape %s {shape = array<i64>} : (tensor<1x1x1xbf16>) -> tensor<bf16>
  %dy = nn.matmul %z, %c {transpose_b} : (tensor<2x8x32xbf16>, tensor<64x32xbf16>) -> tensor<2x8x64xbf16>
  %dx = nn.matmul %dy, %b : (tensor<2x8x64xbf16>, tensor<64x32xbf16>) -> tensor<2x8x32xbf16>
  %rows = nn.reshape %dy {shape = array<i64: 16, 64>} : (tensor<2x8x64xbf16>) -> tensor<16x64xbf16>
  %inputs = nn.reshape %h {shape = array<i64: 16, 32>} : (tensor<2x8x32xbf16>) -> tensor<16x32xbf16>
  %dw = nn.matmul %rows, %inputs {transpose_a} : (tensor<16x64xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  return %loss, %dx, %dw : tensor<bf16>, tensor<2x8x32xbf16>, tensor<64x32xbf16>
}

// -----

// Products of odd sizes, of weights that are no matrix, and of no weights stay.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     nn.quantized_conv
nn.state @a : tensor<32x40xbf16> []
nn.state @b : tensor<40x32xbf16> []
nn.state @c : tensor<2x32x32xbf16> []
nn.state @e : tensor<32x32xbf16> []
func.func @main(%x: tensor<2x8x32xbf16>, %a: tensor<32x40xbf16> {nn.state = @a}, %b: tensor<40x32xbf16> {nn.state = @b}, %c: tensor<2x32x32xbf16> {nn.state = @c}, %e: tensor<32x32xbf16> {nn.state = @e}) -> tensor<2x8x32xbf16> {
  %0 = nn.matmul %x, %a : (tensor<2x8x32xbf16>, tensor<32x40xbf16>) -> tensor<2x8x40xbf16>
  %1 = nn.matmul %0, %b : (tensor<2x8x40xbf16>, tensor<40x32xbf16>) -> tensor<2x8x32xbf16>
  %2 = nn.matmul %1, %c : (tensor<2x8x32xbf16>, tensor<2x32x32xbf16>) -> tensor<2x8x32xbf16>
  %3 = nn.matmul %2, %2 {transpose_b} : (tensor<2x8x32xbf16>, tensor<2x8x32xbf16>) -> tensor<2x8x8xbf16>
  %4 = nn.matmul %3, %2 : (tensor<2x8x8xbf16>, tensor<2x8x32xbf16>) -> tensor<2x8x32xbf16>
  %5 = nn.matmul %4, %e : (tensor<2x8x32xbf16>, tensor<32x32xbf16>) -> tensor<2x8x32xbf16>
  return %5 : tensor<2x8x32xbf16>
}

// -----

// The rows of a GELU and of its gradient have scales by bounds: the norm of the
// row that the product before reads times that of the codes of weights, and the
// bias. The slope of one by tanh is computed beside it.
// CHECK-LABEL: func.func @main
// CHECK:         nn.matmul %arg0, %arg1
// CHECK:         %[[XW:.*]] = nn.cast %{{.*}} {to = f32} : (tensor<2x8x32xbf16>)
// CHECK:         %[[SQUARES:.*]] = nn.mul %[[XW]], %[[XW]]
// CHECK:         %[[SUM:.*]] = nn.reduce %[[SQUARES]] {axes = array<i64: 2>, kind = #nn<combiner sum>}
// CHECK:         %[[ROOT:.*]] = nn.sqrt %[[SUM]]
// CHECK:         %[[MOST:.*]] = nn.constant dense<3041.12476>
// CHECK:         nn.mul %[[ROOT]], %[[MOST]]
// CHECK:         %[[P:.*]] = nn.add %{{.*}}, %arg3 : (tensor<16x64xbf16>, tensor<64xbf16>)
// CHECK:         %[[SLOPE:.*]] = nn.gelu_slope %[[P]]
// CHECK:         %[[G:.*]] = nn.gelu %[[P]]
// CHECK:         %[[TMAX:.*]] = nn.reduce %{{.*}} {axes = array<i64: 0, 1>, kind = #nn<combiner max>} : (tensor<64x1xf32>)
// CHECK:         %[[B:.*]] = nn.abs %{{.*}} : (tensor<64xf32>)
// CHECK:         nn.reduce %[[B]] {axes = array<i64: 0>, kind = #nn<combiner max>}
// CHECK:         %[[BOUND:.*]] = nn.add %{{.*}} : (tensor<16x1xf32>, tensor<f32>)
// CHECK:         nn.cast %[[G]] {to = f32}
// CHECK:         nn.div %[[BOUND]]
// CHECK-NOT:     nn.abs %{{.*}} : (tensor<16x64xf32>)
// CHECK:         nn.cast %{{.*}} {{.*}}to = f8E4M3FN} : (tensor<16x64xf32>)
// CHECK:         %[[DG:.*]] = nn.cast %{{.*}} {storage, to = bf16} : (tensor<16x64xf32>)
// CHECK:         %[[DP:.*]] = nn.mul %[[DG]], %[[SLOPE]]
// CHECK:         nn.constant dense<1.130000e+00>
// CHECK:         nn.cast %[[DP]] {to = f32}
// CHECK-NOT:     nn.abs %{{.*}} : (tensor<16x64xf32>)
// CHECK:         nn.cast %{{.*}} {{.*}}to = f8E5M2} : (tensor<16x64xf32>)
// E4M3-LABEL:    func.func @main
// E4M3:          nn.gelu_grad
// E4M3:          nn.abs %{{.*}} : (tensor<16x64xf32>)
// E4M3:          nn.cast %{{.*}} {{.*}}to = f8E4M3FN} : (tensor<16x64xf32>)
// BF16-LABEL:    func.func @main
// BF16:          nn.gelu_grad
nn.state @a : tensor<32x32xbf16> []
nn.state @b : tensor<64x32xbf16> []
nn.state @c : tensor<32x64xbf16> []
nn.state @e : tensor<32x32xbf16> []
func.func @main(%x: tensor<2x8x32xbf16>, %a: tensor<32x32xbf16> {nn.state = @a}, %b: tensor<64x32xbf16> {nn.state = @b}, %bias: tensor<64xbf16>, %c: tensor<32x64xbf16> {nn.state = @c}, %e: tensor<32x32xbf16> {nn.state = @e}) -> (tensor<bf16>, tensor<2x8x32xbf16>) {
  %h = nn.matmul %x, %a : (tensor<2x8x32xbf16>, tensor<32x32xbf16>) -> tensor<2x8x32xbf16>
  %y = nn.matmul %h, %b {transpose_b} : (tensor<2x8x32xbf16>, tensor<64x32xbf16>) -> tensor<2x8x64xbf16>
  %p = nn.add %y, %bias : (tensor<2x8x64xbf16>, tensor<64xbf16>) -> tensor<2x8x64xbf16>
  %g = nn.gelu %p {approximate = "tanh"} : (tensor<2x8x64xbf16>) -> tensor<2x8x64xbf16>
  %z = nn.matmul %g, %c {transpose_b} : (tensor<2x8x64xbf16>, tensor<32x64xbf16>) -> tensor<2x8x32xbf16>
  %o = nn.matmul %z, %e : (tensor<2x8x32xbf16>, tensor<32x32xbf16>) -> tensor<2x8x32xbf16>
  %s = nn.reduce %o {kind = #nn<combiner sum>, axes = array<i64: 0, 1, 2>} : (tensor<2x8x32xbf16>) -> tensor<1x1x1xbf16>
  %loss = nn.reshape %s {shape = array<i64>} : (tensor<1x1x1xbf16>) -> tensor<bf16>
  %dg = nn.matmul %o, %c : (tensor<2x8x32xbf16>, tensor<32x64xbf16>) -> tensor<2x8x64xbf16>
  %dp = nn.gelu_grad %p, %dg {approximate = "tanh"} : (tensor<2x8x64xbf16>, tensor<2x8x64xbf16>) -> tensor<2x8x64xbf16>
  %dx = nn.matmul %dp, %b : (tensor<2x8x64xbf16>, tensor<64x32xbf16>) -> tensor<2x8x32xbf16>
  return %loss, %dx : tensor<bf16>, tensor<2x8x32xbf16>
}
