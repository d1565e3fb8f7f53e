// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// Kernels of products with a second result: one sums the columns of what it
// stores, one also stores what its activation is of, one the slope there,
// and one multiplies the rows of what it stores by another tensor, which is read
// as a residual is. The last one has half as many columns as its product.

func.func @products(%a: tensor<1024x768xbf16>, %b: tensor<768x3072xbf16>, %x: tensor<1024x3072xbf16>, %v: tensor<3072xbf16>) {
  %0:2 = nn.fusion(%a, %b, %x) : (tensor<1024x768xbf16>, tensor<768x3072xbf16>, tensor<1024x3072xbf16>) -> (tensor<1024x3072xbf16>, tensor<64x3072xf32>) {
  ^bb0(%a0: tensor<1024x768xbf16>, %a1: tensor<768x3072xbf16>, %a2: tensor<1024x3072xbf16>):
    %1 = nn.matmul %a0, %a1 : (tensor<1024x768xbf16>, tensor<768x3072xbf16>) -> tensor<1024x3072xbf16>
    %2 = nn.gelu_grad %a2, %1 : (tensor<1024x3072xbf16>, tensor<1024x3072xbf16>) -> tensor<1024x3072xbf16>
    %3 = nn.column_sums %2 {height = 16 : si64} : (tensor<1024x3072xbf16>) -> tensor<64x3072xf32>
    nn.yield %2, %3 : tensor<1024x3072xbf16>, tensor<64x3072xf32>
  }
  %4:2 = nn.fusion(%a, %b, %v) : (tensor<1024x768xbf16>, tensor<768x3072xbf16>, tensor<3072xbf16>) -> (tensor<1024x3072xbf16>, tensor<1024x3072xbf16>) {
  ^bb0(%a0: tensor<1024x768xbf16>, %a1: tensor<768x3072xbf16>, %a2: tensor<3072xbf16>):
    %1 = nn.matmul %a0, %a1 : (tensor<1024x768xbf16>, tensor<768x3072xbf16>) -> tensor<1024x3072xbf16>
    %2 = nn.add %1, %a2 : (tensor<1024x3072xbf16>, tensor<3072xbf16>) -> tensor<1024x3072xbf16>
    %3 = nn.gelu %2 : (tensor<1024x3072xbf16>) -> tensor<1024x3072xbf16>
    nn.yield %3, %2 : tensor<1024x3072xbf16>, tensor<1024x3072xbf16>
  }
  %5:2 = nn.fusion(%a, %b, %x) : (tensor<1024x768xbf16>, tensor<768x3072xbf16>, tensor<1024x3072xbf16>) -> (tensor<1024x3072xbf16>, tensor<1024x48xf32>) {
  ^bb0(%a0: tensor<1024x768xbf16>, %a1: tensor<768x3072xbf16>, %a2: tensor<1024x3072xbf16>):
    %1 = nn.matmul %a0, %a1 : (tensor<1024x768xbf16>, tensor<768x3072xbf16>) -> tensor<1024x3072xbf16>
    %2 = nn.row_dots %1, %a2 {width = 64 : si64} : (tensor<1024x3072xbf16>, tensor<1024x3072xbf16>) -> tensor<1024x48xf32>
    nn.yield %1, %2 : tensor<1024x3072xbf16>, tensor<1024x48xf32>
  }
  %6:2 = nn.fusion(%a, %b, %v) : (tensor<1024x768xbf16>, tensor<768x3072xbf16>, tensor<3072xbf16>) -> (tensor<1024x3072xbf16>, tensor<1024x3072xbf16>) {
  ^bb0(%a0: tensor<1024x768xbf16>, %a1: tensor<768x3072xbf16>, %a2: tensor<3072xbf16>):
    %1 = nn.matmul %a0, %a1 : (tensor<1024x768xbf16>, tensor<768x3072xbf16>) -> tensor<1024x3072xbf16>
    %2 = nn.add %1, %a2 : (tensor<1024x3072xbf16>, tensor<3072xbf16>) -> tensor<1024x3072xbf16>
    %3 = nn.gelu %2 {approximate = "tanh"} : (tensor<1024x3072xbf16>) -> tensor<1024x3072xbf16>
    %7 = nn.gelu_slope %2 {approximate = "tanh"} : (tensor<1024x3072xbf16>) -> tensor<1024x3072xbf16>
    nn.yield %3, %7 : tensor<1024x3072xbf16>, tensor<1024x3072xbf16>
  }
  %8 = nn.fusion(%a, %b, %v) : (tensor<1024x768xbf16>, tensor<768x3072xbf16>, tensor<3072xbf16>) -> tensor<1024x1536xbf16> {
  ^bb0(%a0: tensor<1024x768xbf16>, %a1: tensor<768x3072xbf16>, %a2: tensor<3072xbf16>):
    %1 = nn.matmul %a0, %a1 : (tensor<1024x768xbf16>, tensor<768x3072xbf16>) -> tensor<1024x3072xbf16>
    %2 = nn.add %1, %a2 : (tensor<1024x3072xbf16>, tensor<3072xbf16>) -> tensor<1024x3072xbf16>
    %3 = nn.gate_columns %2 {activation = "gelu_tanh"} : (tensor<1024x3072xbf16>) -> tensor<1024x1536xbf16>
    nn.yield %3 : tensor<1024x1536xbf16>
  }
  return
}

// CHECK:       // k0 #cuda.wgmma_gemm<
// CHECK-LABEL: struct k0_problem {
// CHECK:         using Reduce = frit::ColumnSums;
// CHECK:       frit::wgmmaGemm<k0_problem>(&m0, &m1, &m2, &m3, nullptr, frit::present(x2), y0, {nullptr, nullptr, y1});
// CHECK:       frit::gemmFloor<k0_problem>(x0, x1, nullptr, frit::present(x2), y0, {nullptr, nullptr, y1});
// CHECK-LABEL: struct k1_problem {
// CHECK:         using Epilogue = frit::GeluTo16Bits;
// CHECK:         using Second = frit::StoredSum;
// CHECK:       frit::wgmmaGemm<k1_problem>(&m0, &m1, &m2, &m3, frit::present(x2), nullptr, y0, {nullptr, nullptr, nullptr, y1});
// CHECK:       frit::gemmFloor<k1_problem>(x0, x1, frit::present(x2), nullptr, y0, {nullptr, nullptr, nullptr, y1});
// CHECK-LABEL: struct k2_problem {
// CHECK:         using Epilogue = frit::Identity;
// CHECK-NEXT:    using Reduce = frit::RowDots;
// CHECK:       frit::wgmmaGemm<k2_problem>(&m0, &m1, &m2, &m3, nullptr, frit::present(x2), y0, {nullptr, nullptr, y1});
// CHECK:       frit::gemmFloor<k2_problem>(x0, x1, nullptr, frit::present(x2), y0, {nullptr, nullptr, y1});
// CHECK-LABEL: struct k3_problem {
// CHECK:         using Epilogue = frit::GeluTanh;
// CHECK-NEXT:    using Second = frit::StoredSlope;
// CHECK:       frit::wgmmaGemm<k3_problem>(&m0, &m1, &m2, &m3, frit::present(x2), nullptr, y0, {nullptr, nullptr, nullptr, y1});
// CHECK-LABEL: struct k4_problem {
// CHECK:         {{ n = 3072,}}
// CHECK:         using Epilogue = frit::Identity;
// CHECK-NEXT:    using Gate = frit::GeluTanh;
// CHECK:         {{.*}}tileN = {{128|256}};
// CHECK:       frit::wgmmaGemm<k4_problem>(&m0, &m1, &m2, nullptr, frit::present(x2), nullptr, y0, {nullptr, nullptr, nullptr});
// CHECK:       frit::gemmFloor<k4_problem>(x0, x1, frit::present(x2), nullptr, y0, {nullptr, nullptr, nullptr});
