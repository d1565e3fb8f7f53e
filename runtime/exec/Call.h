//===- Call.h - Match the inputs of a call with a variant -----------------===//

#ifndef FRIT_RUNTIME_EXEC_CALL_H
#define FRIT_RUNTIME_EXEC_CALL_H

#include "runtime/plan/PlanView.h"

#include <string>
#include <vector>

namespace frit {

/// The inputs of one call: the tensor of each of the model's inputs, the symbol
/// sizes that their shapes imply, and the smallest variant that fits them.
/// Reused from call to call.
class Call {
public:
  /// Allocates for a model's calls; later calls of `open` allocate only on
  /// failure.
  void reserve(const PlanView &plan);

  /// Matches `inputs` with the model's and chooses the variant. Fails if they
  /// are not the model's inputs, or if no variant fits their shapes. Keeps
  /// references to the names and tensors until the next `open`.
  Status open(const PlanView &plan, const std::vector<std::string> &inputNames,
              std::span<const frit_tensor> inputs);

  size_t variant() const { return chosen; }
  /// Returns the caller's tensor for input `index` of the model.
  const frit_tensor &input(size_t index) const { return *given[index]; }
  /// Returns the size of a symbol in this call; the pointer is valid until the
  /// next `open`.
  int64_t *size(size_t symbol) { return &sizes[symbol]; }
  std::span<const int64_t> symbolSizes() const { return sizes; }
  /// Computes the shape that an input has where the symbols have these sizes.
  /// Fails if no variant takes them. Replaces the call.
  Status inputDims(const PlanView &plan, std::span<const int64_t> symbolSizes,
                   size_t index, std::span<int64_t> dims);
  /// Computes the shape that an output has in this call: smaller than the
  /// variant's where inputs are padded. `dims` is valid until the next call of
  /// this function or of `open`.
  Status outputDims(const PlanView &plan, size_t index,
                    std::span<const int64_t> &dims);

private:
  Status readSizes(const PlanView &plan,
                   const std::vector<std::string> &inputNames);
  Status readInput(const PlanView &plan, const std::string &name, size_t index,
                   const frit_tensor &tensor);
  Status pick(const PlanView &plan);
  Status checkSize(const PlanView &plan, size_t symbol) const;
  Status checkSums(const PlanView &plan,
                   const std::vector<std::string> &inputNames) const;
  /// Computes the length that a dimension has in this call. Fails if it is not
  /// from 0 to that of the variant.
  Status lengthOf(const PlanView &plan, const char *kind,
                  const artifact::Tensor &tensor, size_t dim,
                  int64_t &length) const;

  std::vector<const frit_tensor *> given;
  std::vector<int64_t> sizes; ///< per symbol; kUnknown until an input gives it
  /// The input that determined each size, for messages.
  std::vector<const std::string *> sources;
  std::vector<int64_t> shape; ///< result of outputDims
  size_t chosen = 0;
  bool isPadded = false;
};

/// Finds the model's tensor that `tensor`, number `position` of the call,
/// refers to: by its name, or by position if it has none. `kind` is "input" or
/// "output".
Status findTensor(const char *kind, const frit_tensor &tensor, size_t position,
                  const std::vector<std::string> &names, size_t &index);

/// Lists names for messages: "a, b"; "none" if there are none.
std::string joinNames(const std::vector<std::string> &names);

/// Lists the sizes for which there are variants, ascending.
std::vector<int64_t> variantSizes(const PlanView &plan, size_t symbol);

/// Returns whether a length is a symbol by itself, not a sum with it.
bool isSymbol(const artifact::Extent &extent);

/// Formats the type of input `index` with symbol names:
/// "batchx3x224x224xf32", "1xpast+sequencexi64".
std::string formatOpenType(const PlanView &plan, size_t index);

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_CALL_H
