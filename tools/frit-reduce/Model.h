//===- Model.h - Smaller models out of a model ----------------------------===//

#ifndef FRIT_REDUCE_MODEL_H
#define FRIT_REDUCE_MODEL_H

#include "compiler/onnx/onnx.pb.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace frit::reduce {

/// What is known of the values of a graph by name. It stays true when parts of
/// the graph are left out.
struct Knowledge {
  llvm::StringMap<onnx::TypeProto> types;
  /// Values that importing computes, shapes above all.
  llvm::StringMap<onnx::TensorProto> constants;
};

/// Reads the model at `path`, with the weights that lie in other files.
llvm::Expected<onnx::ModelProto> readModel(llvm::StringRef path);

/// What the model's declarations say, and what importing it finds out.
Knowledge learn(const onnx::ModelProto &model, llvm::StringRef path);

/// The model with the nodes in `kept` only. What they read of others becomes
/// inputs, or constants if it is known; what only others read becomes outputs.
/// Nothing where the type of such an input is not known, or nothing is
/// computed.
std::optional<onnx::ModelProto> keepNodes(const onnx::ModelProto &model,
                                          llvm::ArrayRef<unsigned> kept,
                                          const Knowledge &known);

/// The model with the outputs in `kept` only and what they need.
std::optional<onnx::ModelProto> keepOutputs(const onnx::ModelProto &model,
                                            llvm::ArrayRef<unsigned> kept);

/// The model without what is not needed to compute its outputs: nodes, inputs,
/// weights, functions, operator sets.
void prune(onnx::ModelProto &model);

/// Removes what no one computes with: names of producers, documentation,
/// declarations of inner values.
void removeNotes(onnx::ModelProto &model);

} // namespace frit::reduce

#endif // FRIT_REDUCE_MODEL_H
