//===- Model.h - Remove parts of a model ----------------------------------===//

#ifndef FRIT_TOOLS_FRIT_REDUCE_MODEL_H
#define FRIT_TOOLS_FRIT_REDUCE_MODEL_H

#include "compiler/onnx/onnx.pb.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace frit::reduce {

/// Types and constants of a graph's values by name. Removing parts of the graph
/// does not invalidate them.
struct Knowledge {
  llvm::StringMap<onnx::TypeProto> types;
  /// Values that the importer folds to constants, mostly shapes.
  llvm::StringMap<onnx::TensorProto> constants;
};

/// Reads the model at `path`, external weights included.
llvm::Expected<onnx::ModelProto> readModel(llvm::StringRef path);

/// Collects the types that the model declares, and types and constants that
/// importing it finds.
Knowledge learn(const onnx::ModelProto &model, llvm::StringRef path);

/// Returns the model with only the nodes in `kept`. Values that they read from
/// removed nodes become constants if known, otherwise inputs. Values that only
/// removed nodes read become outputs. None if the type of a new input is not
/// known, or if no node is left.
std::optional<onnx::ModelProto> keepNodes(const onnx::ModelProto &model,
                                          llvm::ArrayRef<unsigned> kept,
                                          const Knowledge &known);

/// Returns the model with only the outputs in `kept` and the nodes that they
/// need.
std::optional<onnx::ModelProto> keepOutputs(const onnx::ModelProto &model,
                                            llvm::ArrayRef<unsigned> kept);

/// Removes everything that no output needs: nodes, inputs, weights, functions,
/// operator sets.
void prune(onnx::ModelProto &model);

/// Removes data that do not affect results: producer names, documentation,
/// declarations of inner values.
void removeNotes(onnx::ModelProto &model);

} // namespace frit::reduce

#endif // FRIT_TOOLS_FRIT_REDUCE_MODEL_H
