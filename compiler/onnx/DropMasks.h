//===- DropMasks.h - Dropout without a module's name ----------------------===//
//
// PyTorch's older exporter writes DropPath, stochastic depth and whatever else
// draws a mask as operators, without the module's class:
//
//   drawn = RandomUniformLike(zeros)
//   mask = Cast(Less(drawn, keep)) / keep     or
//   mask = Floor(drawn + keep)
//   y = x * mask                              or x / keep * mask
//
// In the mean over the draws, y is x: the product is known by its numbers. A
// mask that is not divided by its mean is left alone; it may be noise that the
// model is meant to have.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_DROPMASKS_H
#define FRIT_COMPILER_ONNX_DROPMASKS_H

#include "compiler/onnx/onnx.pb.h"

#include <map>
#include <string>

namespace frit {

/// Finds products of a value and a random mask whose mean is 1: returns the
/// name of the value by that of the product.
std::map<std::string, std::string> findDropMasks(const onnx::GraphProto &graph);

} // namespace frit

#endif // FRIT_COMPILER_ONNX_DROPMASKS_H
