//===- DropModules.h - Dropout that is written as random numbers ----------===//
//
// PyTorch's newer exporter writes Dropout2d, AlphaDropout and modules of users,
// such as DropPath, as the operators that draw and apply a mask:
//
//   node { op_type: "RandomUniformLike" … metadata_props {
//     key: "pkg.torch.onnx.class_hierarchy"
//     value: "['Net', 'torch.nn.modules.dropout.Dropout2d',
//     'aten.bernoulli.p']"
//   } metadata_props {
//     key: "pkg.torch.onnx.name_scopes"  value: "['', 'drop', 'bernoulli']" } }
//
// The metadata name the module, so its operators can be skipped where nothing
// is to be dropped. DropMasks.h finds what has no module's name. Needs no MLIR
// and no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_DROPMODULES_H
#define FRIT_COMPILER_ONNX_DROPMODULES_H

#include "compiler/onnx/onnx.pb.h"

#include <map>
#include <string>

namespace frit {

/// Finds the modules of a graph that drop parts of their input at random, and
/// products that do so by themselves (DropMasks.h): returns the name of the
/// input by that of the result.
std::map<std::string, std::string>
findDropModules(const onnx::GraphProto &graph);

} // namespace frit

#endif // FRIT_COMPILER_ONNX_DROPMODULES_H
