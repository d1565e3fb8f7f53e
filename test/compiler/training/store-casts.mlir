// RUN: frit-opt %s --split-input-file --store-casts | FileCheck %s
// RUN: frit-opt %s --split-input-file --store-casts --fusion | FileCheck %s --check-prefix=FUSED

// The next step reads what the optimizer's kernel stores: the whole state, and
// parts of it.
// CHECK:       nn.state @p : tensor<8192xf32> [#nn.member<"w" at 0 : tensor<64x128xf32>>]
// CHECK-NEXT:  nn.state @p.bf16 : tensor<8192xbf16> [] {derived_from = @p}
// CHECK-LABEL: func.func @main
// CHECK-SAME:      %[[P:.*]]: tensor<8192xf32> {nn.state = @p}, %[[D:.*]]: tensor<8192xf32>, %[[H:.*]]: tensor<8192xbf16> {nn.state = @p.bf16}) ->
// CHECK-SAME:      (tensor<64x128xbf16>, tensor<4x128xbf16>, tensor<2x128xf32>, tensor<8192xf32> {nn.state = @p}, tensor<8192xbf16> {nn.state = @p.bf16})
// CHECK-NEXT:    %[[A:.*]] = nn.reshape %[[P]] {shape = array<i64: 64, 128>} : (tensor<8192xf32>) -> tensor<64x128xf32>
// CHECK-NEXT:    %[[HA:.*]] = nn.reshape %[[H]] {shape = array<i64: 64, 128>} : (tensor<8192xbf16>) -> tensor<64x128xbf16>
// CHECK-NEXT:    %[[N:.*]] = nn.neg %[[HA]]
// CHECK-NEXT:    %[[HS:.*]] = nn.slice %[[HA]] {{.*}} -> tensor<4x128xbf16>
// CHECK-NEXT:    %[[AS:.*]] = nn.slice %[[A]] {{.*}} -> tensor<2x128xf32>
// CHECK-NEXT:    %[[NEW:.*]] = nn.sub %[[P]], %[[D]]
// CHECK-NEXT:    %[[NEXT:.*]] = nn.update %[[P]], %[[NEW]]
// CHECK-NEXT:    %[[CAST:.*]] = nn.cast %[[NEW]] {storage, to = bf16}
// CHECK-NEXT:    %[[STORED:.*]] = nn.update %[[H]], %[[CAST]]
// CHECK-NEXT:    return %[[N]], %[[HS]], %[[AS]], %[[NEXT]], %[[STORED]]
// CHECK:       func.func @derive(%[[P:.*]]: tensor<8192xf32> {nn.state = @p}, %[[H:.*]]: tensor<8192xbf16> {nn.state = @p.bf16}) ->
// CHECK-SAME:      (tensor<8192xbf16> {nn.state = @p.bf16})
// CHECK-NEXT:    %[[CAST:.*]] = nn.cast %[[P]] {storage, to = bf16}
// CHECK-NEXT:    %[[STORED:.*]] = nn.update %[[H]], %[[CAST]]
// CHECK-NEXT:    return %[[STORED]]
// FUSED-LABEL: func.func @main
// FUSED:         nn.fusion({{.*}}) : {{.*}} -> (tensor<8192xf32>, tensor<8192xbf16>)
nn.state @p : tensor<8192xf32> [#nn.member<"w" at 0 : tensor<64x128xf32>>]
func.func @main(%p: tensor<8192xf32> {nn.state = @p}, %d: tensor<8192xf32>) -> (tensor<64x128xbf16>, tensor<4x128xbf16>, tensor<2x128xf32>, tensor<8192xf32> {nn.state = @p}) {
  %a = nn.reshape %p {shape = array<i64: 64, 128>} : (tensor<8192xf32>) -> tensor<64x128xf32>
  %h = nn.cast %a {to = bf16} : (tensor<64x128xf32>) -> tensor<64x128xbf16>
  %n = nn.neg %h : (tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %s = nn.slice %a {starts = array<i64: 8, 0>, sizes = array<i64: 4, 128>, steps = array<i64: 1, 1>} : (tensor<64x128xf32>) -> tensor<4x128xf32>
  %sh = nn.cast %s {to = bf16} : (tensor<4x128xf32>) -> tensor<4x128xbf16>
  %w = nn.slice %a {starts = array<i64: 0, 0>, sizes = array<i64: 2, 128>, steps = array<i64: 1, 1>} : (tensor<64x128xf32>) -> tensor<2x128xf32>
  %next = nn.sub %p, %d : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  %tied = nn.update %p, %next : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  return %n, %sh, %w, %tied : tensor<64x128xbf16>, tensor<4x128xbf16>, tensor<2x128xf32>, tensor<8192xf32>
}

// -----

// @derive has the copies of all states.
// CHECK:       nn.state @p.f16 : tensor<4096xf16> [] {derived_from = @p}
// CHECK:       nn.state @q.f16 : tensor<4096xf16> [] {derived_from = @q}
// CHECK:       func.func @derive(%{{.*}}: tensor<4096xf32> {nn.state = @p}, %{{.*}}: tensor<4096xf16> {nn.state = @p.f16}, %{{.*}}: tensor<4096xf32> {nn.state = @q}, %{{.*}}: tensor<4096xf16> {nn.state = @q.f16})
nn.state @p : tensor<4096xf32> []
nn.state @q : tensor<4096xf32> []
func.func @main(%p: tensor<4096xf32> {nn.state = @p}, %q: tensor<4096xf32> {nn.state = @q}) -> (tensor<4096xf16>, tensor<4096xf32> {nn.state = @p}, tensor<4096xf32> {nn.state = @q}) {
  %0 = nn.cast %p {to = f16} : (tensor<4096xf32>) -> tensor<4096xf16>
  %1 = nn.cast %q {to = f16} : (tensor<4096xf32>) -> tensor<4096xf16>
  %2 = nn.add %0, %1 : (tensor<4096xf16>, tensor<4096xf16>) -> tensor<4096xf16>
  %3 = nn.neg %p : (tensor<4096xf32>) -> tensor<4096xf32>
  %4 = nn.abs %q : (tensor<4096xf32>) -> tensor<4096xf32>
  %5 = nn.update %p, %3 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %6 = nn.update %q, %4 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  return %2, %5, %6 : tensor<4096xf16>, tensor<4096xf32>, tensor<4096xf32>
}

// -----

// There is no copy of a state that is only read (@read), of which only a part
// is cast (@part), whose next value is gathered (@gathered) or packed
// (@packed), or that is cast to another type (@wide).
// CHECK-NOT: derive
nn.state @read : tensor<4096xf32> []
nn.state @part : tensor<4096xf32> []
nn.state @gathered : tensor<4096xf32> []
nn.state @packed : tensor<4096xf32> []
nn.state @wide : tensor<4096xf32> []
func.func @main(%read: tensor<4096xf32> {nn.state = @read}, %part: tensor<4096xf32> {nn.state = @part}, %gathered: tensor<4096xf32> {nn.state = @gathered}, %packed: tensor<4096xf32> {nn.state = @packed}, %wide: tensor<4096xf32> {nn.state = @wide})
    -> (tensor<4096xbf16>, tensor<8xbf16>, tensor<4096xbf16>, tensor<4096xbf16>, tensor<4096xf64>, tensor<4096xf32> {nn.state = @part}, tensor<4096xf32> {nn.state = @gathered}, tensor<4096xf32> {nn.state = @packed}, tensor<4096xf32> {nn.state = @wide}) {
  %0 = nn.cast %read {to = bf16} : (tensor<4096xf32>) -> tensor<4096xbf16>
  %1 = nn.slice %part {starts = array<i64: 0>, sizes = array<i64: 8>, steps = array<i64: 1>} : (tensor<4096xf32>) -> tensor<8xf32>
  %2 = nn.cast %1 {to = bf16} : (tensor<8xf32>) -> tensor<8xbf16>
  %3 = nn.cast %gathered {to = bf16} : (tensor<4096xf32>) -> tensor<4096xbf16>
  %4 = nn.cast %packed {to = bf16} : (tensor<4096xf32>) -> tensor<4096xbf16>
  %5 = nn.cast %wide {to = f64} : (tensor<4096xf32>) -> tensor<4096xf64>
  %6 = nn.neg %part : (tensor<4096xf32>) -> tensor<4096xf32>
  %7 = nn.neg %gathered : (tensor<4096xf32>) -> tensor<4096xf32>
  %8 = nn.all_gather %7 : (tensor<4096xf32>) -> tensor<4096xf32>
  %9 = nn.neg %packed : (tensor<4096xf32>) -> tensor<4096xf32>
  %10 = nn.pack %9 {offsets = array<i64: 0>, size = 4096 : i64} : (tensor<4096xf32>) -> tensor<4096xf32>
  %11 = nn.neg %wide : (tensor<4096xf32>) -> tensor<4096xf32>
  %u0 = nn.update %part, %6 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %u1 = nn.update %gathered, %8 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %u2 = nn.update %packed, %10 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %u3 = nn.update %wide, %11 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  return %0, %2, %3, %4, %5, %u0, %u1, %u2, %u3 : tensor<4096xbf16>, tensor<8xbf16>, tensor<4096xbf16>, tensor<4096xbf16>, tensor<4096xf64>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>
}
