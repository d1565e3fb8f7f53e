//===- Window.h - The windows of convolutions and pools -------------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_WINDOW_H
#define FRIT_COMPILER_ONNX_OPS_WINDOW_H

#include "compiler/onnx/reader/Node.h"

namespace frit::importer {

/// A window over the spatial dimensions, an entry per dimension; `pads` are the
/// leading ones, then the trailing ones; `shape` is the result's.
struct Window {
  llvm::SmallVector<int64_t> size, strides, pads, dilations, shape;
};

/// An attribute with `count` entries between `least` and 2^31.
llvm::SmallVector<int64_t> windowEntries(Node &node, llvm::StringRef name,
                                         size_t count, int64_t least);

/// Reads the attributes of a node whose input `x` the window slides over, with
/// padding by `auto_pad` and the result's shape by `ceil_mode` worked out.
std::optional<Window> readWindow(Node &node, mlir::Value x,
                                 llvm::ArrayRef<int64_t> size);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_WINDOW_H
