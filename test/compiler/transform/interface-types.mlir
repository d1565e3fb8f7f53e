// RUN: frit-opt %s --interface-types='types=x:ui8,y:f16' | FileCheck %s
// RUN: frit-opt %s --precision=mode=fp16 --interface-types='types=x:f16,y:f16' --simplify | FileCheck %s --check-prefix=HALF
// RUN: frit-opt %s --precision=mode=fp16 --interface-types='types=x:ui8,y:f32' --simplify | FileCheck %s --check-prefix=BYTES
// RUN: not frit-opt %s --interface-types='types=z:f16' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not frit-opt %s --interface-types='types=x' 2>&1 | FileCheck %s --check-prefix=SPEC
// UNKNOWN: error: -ftype names 'z', which is no input or output; there is 'x', 'i', 'y'
// SPEC: error: 'x' is no name and type, as x:f16 is

// Casts stand between the caller's types and the model's.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xui8> {nn.name = "x"}, %[[I:.*]]: tensor<4xi64> {nn.name = "i"}) -> (tensor<4x6xf16> {nn.name = "y"})
// CHECK:         %[[W:.*]] = nn.cast %[[X]] {to = f32}
// CHECK:         %[[P:.*]] = nn.matmul %[[W]]
// CHECK:         %[[G:.*]] = nn.gather %[[P]], %[[I]]
// CHECK:         %[[Y:.*]] = nn.cast %[[G]] {to = f16}
// CHECK-NEXT:    return %[[Y]]

// No casts if the model computes in the caller's type.
// HALF-LABEL: func.func @main
// HALF-SAME:    (%[[X:.*]]: tensor<4x8xf16> {nn.name = "x"}, %{{.*}}) -> (tensor<4x6xf16> {nn.name = "y"})
// HALF:         %[[P:.*]] = nn.matmul %[[X]], %{{.*}} : (tensor<4x8xf16>
// HALF-NEXT:    %[[G:.*]] = nn.gather %[[P]]
// HALF-NEXT:    return %[[G]]

// Bytes are converted to f16 directly.
// BYTES-LABEL: func.func @main
// BYTES-SAME:    (%[[X:.*]]: tensor<4x8xui8>
// BYTES:         %[[H:.*]] = nn.cast %[[X]] {storage, to = f16}
// BYTES:         nn.matmul %[[H]]
func.func @main(%x: tensor<4x8xf32> {nn.name = "x"}, %i: tensor<4xi64> {nn.name = "i"}) -> (tensor<4x6xf32> {nn.name = "y"}) {
  %w = nn.constant "w" dense<0.5> : tensor<8x6xf32>
  %0 = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = nn.gather %0, %i : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
