// Messages of the verifier of sparse matrices.
// RUN: frit-opt %s -split-input-file -verify-diagnostics

func.func @values(%v: tensor<2x1x512xf16>, %p: tensor<2x1x256xui8>) {
  // expected-error@+1 {{values have shape 2x1x512, which is not rows / 16, columns / 128, 1024}}
  %0 = nn.decompress %v, %p {to = f16} : (tensor<2x1x512xf16>, tensor<2x1x256xui8>) -> tensor<32x128xf16>
  return
}

// -----

func.func @places(%v: tensor<2x1x1024xf16>, %p: tensor<2x1x128xui8>) {
  // expected-error@+1 {{places have shape 2x1x128, not 2x1x256}}
  %0 = nn.decompress %v, %p {to = f16} : (tensor<2x1x1024xf16>, tensor<2x1x128xui8>) -> tensor<32x128xf16>
  return
}

// -----

func.func @scales(%v: tensor<2x1x1024xui8>, %p: tensor<2x1x256xui8>) {
  // expected-error@+1 {{bytes need a code and scales, and numbers have none}}
  %0 = nn.decompress %v, %p {code = "int8", to = f16} : (tensor<2x1x1024xui8>, tensor<2x1x256xui8>) -> tensor<32x128xf16>
  return
}

// -----

func.func @code(%v: tensor<2x1x1024xui8>, %p: tensor<2x1x256xui8>, %s: tensor<32xf16>) {
  // expected-error@+1 {{code 'int4' is none of int8, e4m3}}
  %0 = nn.decompress %v, %p, %s {code = "int4", to = f16} : (tensor<2x1x1024xui8>, tensor<2x1x256xui8>, tensor<32xf16>) -> tensor<32x128xf16>
  return
}

// -----

func.func @rows(%v: tensor<2x1x1024xui8>, %p: tensor<2x1x256xui8>, %s: tensor<16xf16>) {
  // expected-error@+1 {{scales have shape 16, not 32}}
  %0 = nn.decompress %v, %p, %s {code = "int8", to = f16} : (tensor<2x1x1024xui8>, tensor<2x1x256xui8>, tensor<16xf16>) -> tensor<32x128xf16>
  return
}

// -----

func.func @type(%v: tensor<2x1x1024xf16>, %p: tensor<2x1x256xui8>) {
  // expected-error@+1 {{'to' is not the type of the values}}
  %0 = nn.decompress %v, %p {to = bf16} : (tensor<2x1x1024xf16>, tensor<2x1x256xui8>) -> tensor<32x128xbf16>
  return
}

// -----

func.func @integers(%v: tensor<2x1x1024xf16>, %p: tensor<2x1x256xui8>) {
  // expected-error@+1 {{'to' is no float of 16 to 64 bits}}
  %0 = nn.decompress %v, %p {to = i32} : (tensor<2x1x1024xf16>, tensor<2x1x256xui8>) -> tensor<32x128xf32>
  return
}
