//===- AttentionText.cpp - Text and maps of attention kernels -------------===//

#include "codegen/cuda/attention/AttentionText.h"

#include "codegen/cuda/device/wgmma_layout.cuh"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

std::string frit::cuda::stridesText(StringRef name, ArrayRef<int64_t> strides) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "  using " << name << " = frit::Strides<";
  llvm::interleaveComma(strides, os);
  os << ">;\n";
  return text;
}

artifact::TensorMap frit::cuda::operandMap(const nn::AttentionOperand &operand,
                                           unsigned argument, Type element,
                                           ArrayRef<int64_t> dims,
                                           int64_t lines) {
  const int64_t bytes = 2;
  // Any stride is right for a dimension of size 1.
  SmallVector<int64_t, 3> strides;
  for (int dim : {2, 1, 0}) {
    int64_t stride = operand.strides[dim];
    strides.push_back(stride ? stride * bytes : kLineBytes);
  }
  artifact::TensorMap map = tensorMap(argument, element, dims, strides,
                                      {kLineBytes / bytes, lines, 1, 1});
  map.offset = operand.offset * bytes;
  map.swizzle = kLineBytes;
  return map;
}
