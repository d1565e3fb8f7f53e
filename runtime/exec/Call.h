//===- Call.h - What the shapes of a call's inputs ask for ----------------===//

#ifndef FRIT_EXEC_CALL_H
#define FRIT_EXEC_CALL_H

#include "runtime/exec/PlanView.h"

#include <string>
#include <vector>

namespace frit {

/// How a call's inputs fit a model: which is which, the sizes they give its
/// symbols, and the smallest variant that takes them. May be used again.
class Call {
public:
  /// Makes room for a model's calls, so that `open` allocates nothing unless it
  /// fails.
  void reserve(const PlanView &plan);

  /// Fails where the inputs are not the model's, or there is no variant for
  /// their shapes. Names and tensors must outlive the next call of it.
  Status open(const PlanView &plan, const std::vector<std::string> &inputNames,
              std::span<const frit_tensor> inputs);

  size_t variant() const { return chosen; }
  /// The tensor that the call gives for input `index` of the model.
  const frit_tensor &input(size_t index) const { return *given[index]; }
  /// The size that the call gives a symbol; valid until the next call of
  /// `open`.
  int64_t *size(size_t symbol) { return &sizes[symbol]; }
  /// The true shape of an output in this call: the variant's, or less of it
  /// where inputs are padded. Valid until the next call of it or of `open`.
  Status outputDims(const PlanView &plan, size_t index,
                    std::span<const int64_t> &dims);

private:
  Status readSizes(const PlanView &plan,
                   const std::vector<std::string> &inputNames);
  Status readInput(const PlanView &plan, const std::string &name,
                   const artifact::Tensor &expected, const frit_tensor &tensor);
  Status pick(const PlanView &plan);
  Status checkSize(const PlanView &plan, size_t symbol) const;

  std::vector<const frit_tensor *> given;
  std::vector<int64_t> sizes; ///< of each symbol
  /// The name of the input that gave each of them.
  std::vector<const std::string *> sources;
  std::vector<int64_t> shape; ///< what outputDims told
  size_t chosen = 0;
  bool isPadded = false;
};

/// Finds which of the model's tensors `tensor`, the call's `position`th, is.
/// `kind` is "input" or "output".
Status findTensor(const char *kind, const frit_tensor &tensor, size_t position,
                  const std::vector<std::string> &names, size_t &index);

/// The sizes of a symbol that there are variants of, ascending.
std::vector<int64_t> variantSizes(const PlanView &plan, size_t symbol);

/// A tensor's type with its symbols' names: "batchx3x224x224xf32".
std::string formatOpenType(const PlanView &plan,
                           const artifact::Tensor &tensor);

} // namespace frit

#endif // FRIT_EXEC_CALL_H
