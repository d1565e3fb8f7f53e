// Messages of the verifier of codes.
// RUN: frit-opt %s -split-input-file -verify-diagnostics

func.func @code(%c: tensor<4x8xui8>, %s: tensor<4x1xf16>) {
  // expected-error@+1 {{code 'int3' is none of int4, int8, e2m1, e4m3}}
  %0 = nn.dequantize %c, %s {code = "int3", to = f16} : (tensor<4x8xui8>, tensor<4x1xf16>) -> tensor<4x8xf16>
  return
}

// -----

func.func @type(%c: tensor<4x8xui8>, %s: tensor<4x1xf16>) {
  // expected-error@+1 {{'to' is no float of 16 to 64 bits}}
  %0 = nn.dequantize %c, %s {code = "int8", to = i32} : (tensor<4x8xui8>, tensor<4x1xf16>) -> tensor<4x8xf32>
  return
}

// -----

func.func @rows(%c: tensor<4x8xui8>, %s: tensor<5x1xf16>) {
  // expected-error@+1 {{codes and scales have shapes 4x8 and 5x1, not rows of bytes and rows of blocks}}
  %0 = nn.dequantize %c, %s {code = "int8", to = f16} : (tensor<4x8xui8>, tensor<5x1xf16>) -> tensor<4x8xf16>
  return
}

// -----

func.func @blocks(%c: tensor<4x8xui8>, %s: tensor<4x3xf16>) {
  // expected-error@+1 {{16 columns do not consist of 3 blocks}}
  %0 = nn.dequantize %c, %s {code = "int4", to = f16} : (tensor<4x8xui8>, tensor<4x3xf16>) -> tensor<4x16xf16>
  return
}

// -----

func.func @offsets(%c: tensor<4x8xui8>, %s: tensor<4x2xf16>, %o: tensor<4x1xf16>) {
  // expected-error@+1 {{offsets are not as scales are}}
  %0 = nn.dequantize %c, %s, %o {code = "int4", to = f16} : (tensor<4x8xui8>, tensor<4x2xf16>, tensor<4x1xf16>) -> tensor<4x16xf16>
  return
}

// -----

func.func @tiles(%c: tensor<16x32xui8>, %s: tensor<1x1x16xf16>) {
  // expected-error@+1 {{codes have shape 16x32, which is not rows / 16, parts, 512}}
  %0 = nn.dequantize %c, %s {code = "int8", to = f16, tiled} : (tensor<16x32xui8>, tensor<1x1x16xf16>) -> tensor<16x32xf16>
  return
}
