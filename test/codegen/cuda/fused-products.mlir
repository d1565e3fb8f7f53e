// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// A product that is added to a number is one fma with it, and of two products
// the first, however many elements a thread has.
#one = #cuda.map<threads = 64>
#two = #cuda.map<vector = 2, threads = 64>
func.func @sums(%a: tensor<64x64xbf16>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) {
  %0 = nn.fusion(%a, %b, %c) schedule(#one) : (tensor<64x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: tensor<64x64xbf16>, %y: tensor<64x64xf32>, %z: tensor<64x64xf32>):
    %1 = nn.cast %x {to = f32} : (tensor<64x64xbf16>) -> tensor<64x64xf32>
    %2 = nn.mul %1, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = nn.mul %y, %z : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %4 = nn.add %2, %3 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nn.yield %4 : tensor<64x64xf32>
  }
  %5 = nn.fusion(%a, %b, %c) schedule(#two) : (tensor<64x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: tensor<64x64xbf16>, %y: tensor<64x64xf32>, %z: tensor<64x64xf32>):
    %1 = nn.cast %x {to = f32} : (tensor<64x64xbf16>) -> tensor<64x64xf32>
    %2 = nn.mul %1, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = nn.mul %y, %z : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %4 = nn.add %2, %3 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nn.yield %4 : tensor<64x64xf32>
  }
  // Differences, and a product that is stored as well.
  %6:2 = nn.fusion(%b, %c) schedule(#two) : (tensor<64x64xf32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  ^bb0(%y: tensor<64x64xf32>, %z: tensor<64x64xf32>):
    %1 = nn.mul %y, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = nn.sub %z, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = nn.mul %z, %z : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %4 = nn.sub %3, %2 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nn.yield %4, %1 : tensor<64x64xf32>, tensor<64x64xf32>
  }
  return
}

// CHECK-LABEL: struct k0_body {
// CHECK: y0[i] = frit::fma(frit::load(x0[i]), [[Y:v[0-9]+]], [[Y]] * x2[i]);

// CHECK-LABEL: struct k1_body {
// CHECK: out0[v] = frit::fma(a0[v], a1[v], a1[v] * a2[v]);

// CHECK-LABEL: struct k2_body {
// CHECK: out0[v] = frit::fma(a0[v], a0[v], -frit::fma(-a1[v], a1[v], a0[v]));
// CHECK-NEXT: out1[v] = a1[v] * a1[v];
