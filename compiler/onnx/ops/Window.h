//===- Window.h - Windows of convolutions and pools -----------------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_WINDOW_H
#define FRIT_COMPILER_ONNX_OPS_WINDOW_H

#include "compiler/onnx/reader/Node.h"

namespace frit::importer {

/// A window over the spatial dimensions, one entry per dimension. `pads` are
/// all leading, then all trailing ones; `shape` is the result's.
struct Window {
  llvm::SmallVector<int64_t> size, strides, pads, dilations, shape;
};

/// Reads an attribute with `count` entries between `least` and 2^31.
llvm::SmallVector<int64_t> windowEntries(Node &node, llvm::StringRef name,
                                         size_t count, int64_t least);

/// Reads the window attributes of a node with input `x`, resolving `auto_pad`
/// and `ceil_mode`.
std::optional<Window> readWindow(Node &node, mlir::Value x,
                                 llvm::ArrayRef<int64_t> size);

/// Returns whether the length of a spatial dimension depends on the data.
bool hasOpenSpace(Node &node, mlir::Value x);

/// Import AveragePool and GlobalAveragePool of the node's first input.
Results averagePool(Node &node);
Results globalAveragePool(Node &node);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_WINDOW_H
