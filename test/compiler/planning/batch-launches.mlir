// RUN: frit-opt %s -split-input-file --batch-launches | FileCheck %s

// The sums write other parts of one buffer, and no step before the copy reads
// them. They run where the last of them did. The rows that the first one read
// live longer: %a is not free for %c.

// CHECK-LABEL: plan.target
// CHECK-NOT: plan.kernel @sum {
// CHECK: plan.kernel @sum_x3
// CHECK: nn.fusion{{.*}} {plan.batch = 3 : i64}
// CHECK: plan.launch @relu(%{{.*}}) -> (%[[A:.*]]) : mem
// CHECK-NEXT: plan.launch @relu(%{{.*}}) -> (%[[B:.*]]) : mem
// CHECK-NEXT: plan.launch @relu(%{{.*}}) -> (%[[C:.*]]) : mem
// CHECK-NEXT: plan.launch @sum_x3(%[[A]], %[[B]], %[[C]]) -> (%[[P:.*]], %[[Q:.*]], %[[R:.*]]) : mem
// CHECK-NEXT: plan.copy
plan.target "sm_90a" {
  plan.kernel @sum {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = nn.fusion(%a) schedule(#cuda.column<team = 8, vector = 1, threads = 256>) : (tensor<64x256xf32>) -> tensor<256xf32> {
    ^bb0(%b: tensor<64x256xf32>):
      %r = nn.reduce %b {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<64x256xf32>) -> tensor<1x256xf32>
      %v = nn.reshape %r {shape = array<i64: 256>} : (tensor<1x256xf32>) -> tensor<256xf32>
      nn.yield %v : tensor<256xf32>
    }
  }
  plan.kernel @relu {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = nn.fusion(%a) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
    ^bb0(%b: tensor<64x256xf32>):
      %r = nn.relu %b : (tensor<64x256xf32>) -> tensor<64x256xf32>
      nn.yield %r : tensor<64x256xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<64x256xf32>
    %y = plan.buffer output[0] : memref<768xf32>
    %held = plan.buffer arena : memref<1024x256xf32>
    %a = plan.buffer arena : memref<64x256xf32>
    %b = plan.buffer arena : memref<64x256xf32>
    %c = plan.buffer arena : memref<64x256xf32>
    %s = plan.buffer arena : memref<768xf32>
    %p = plan.view %s : memref<768xf32> to memref<256xf32>
    %q = plan.view %s at 1024 : memref<768xf32> to memref<256xf32>
    %r = plan.view %s at 2048 : memref<768xf32> to memref<256xf32>
    %h = plan.buffer input[1] : memref<1024x256xf32>
    plan.copy %h to %held : memref<1024x256xf32> to memref<1024x256xf32>
    plan.copy %held to %h : memref<1024x256xf32> to memref<1024x256xf32>
    plan.launch @relu(%x) -> (%a) : memref<64x256xf32> -> memref<64x256xf32>
    plan.launch @sum(%a) -> (%p) : memref<64x256xf32> -> memref<256xf32>
    plan.launch @relu(%x) -> (%b) : memref<64x256xf32> -> memref<64x256xf32>
    plan.launch @sum(%b) -> (%q) : memref<64x256xf32> -> memref<256xf32>
    plan.launch @relu(%x) -> (%c) : memref<64x256xf32> -> memref<64x256xf32>
    plan.launch @sum(%c) -> (%r) : memref<64x256xf32> -> memref<256xf32>
    plan.copy %s to %y : memref<768xf32> to memref<768xf32>
  }
}

// -----

// A step needs the second sum before the third one; two are together. In the
// end of the list, the last one stays alone.

// CHECK-LABEL: plan.target
// CHECK: plan.kernel @sum {
// CHECK: plan.kernel @sum_x2
// CHECK: plan.launch @sum_x2(
// CHECK-NEXT: plan.copy
// CHECK-NEXT: plan.launch @sum(
plan.target "sm_90a" {
  plan.kernel @sum {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = nn.fusion(%a) schedule(#cuda.column<team = 8, vector = 1, threads = 256>) : (tensor<64x256xf32>) -> tensor<256xf32> {
    ^bb0(%b: tensor<64x256xf32>):
      %r = nn.reduce %b {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<64x256xf32>) -> tensor<1x256xf32>
      %v = nn.reshape %r {shape = array<i64: 256>} : (tensor<1x256xf32>) -> tensor<256xf32>
      nn.yield %v : tensor<256xf32>
    }
  }
  plan.command_list @main of "main" {
    %a = plan.buffer input[0] : memref<64x256xf32>
    %p = plan.buffer output[0] : memref<256xf32>
    %q = plan.buffer arena : memref<256xf32>
    %r = plan.buffer output[1] : memref<256xf32>
    %y = plan.buffer output[2] : memref<256xf32>
    plan.launch @sum(%a) -> (%p) : memref<64x256xf32> -> memref<256xf32>
    plan.launch @sum(%a) -> (%q) : memref<64x256xf32> -> memref<256xf32>
    plan.copy %q to %y : memref<256xf32> to memref<256xf32>
    plan.launch @sum(%a) -> (%r) : memref<64x256xf32> -> memref<256xf32>
  }
}

// -----

// Together, all rows would be live at a time, and the arena would grow.

// CHECK-LABEL: plan.target
// CHECK: plan.launch @sum(
// CHECK: plan.launch @sum(
plan.target "sm_90a" {
  plan.kernel @sum {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = nn.fusion(%a) schedule(#cuda.column<team = 8, vector = 1, threads = 256>) : (tensor<64x256xf32>) -> tensor<256xf32> {
    ^bb0(%b: tensor<64x256xf32>):
      %r = nn.reduce %b {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<64x256xf32>) -> tensor<1x256xf32>
      %v = nn.reshape %r {shape = array<i64: 256>} : (tensor<1x256xf32>) -> tensor<256xf32>
      nn.yield %v : tensor<256xf32>
    }
  }
  plan.kernel @relu {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = nn.fusion(%a) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
    ^bb0(%b: tensor<64x256xf32>):
      %r = nn.relu %b : (tensor<64x256xf32>) -> tensor<64x256xf32>
      nn.yield %r : tensor<64x256xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<64x256xf32>
    %p = plan.buffer output[0] : memref<256xf32>
    %q = plan.buffer output[1] : memref<256xf32>
    %a = plan.buffer arena : memref<64x256xf32>
    %b = plan.buffer arena : memref<64x256xf32>
    plan.launch @relu(%x) -> (%a) : memref<64x256xf32> -> memref<64x256xf32>
    plan.launch @sum(%a) -> (%p) : memref<64x256xf32> -> memref<256xf32>
    plan.launch @relu(%x) -> (%b) : memref<64x256xf32> -> memref<64x256xf32>
    plan.launch @sum(%b) -> (%q) : memref<64x256xf32> -> memref<256xf32>
  }
}
