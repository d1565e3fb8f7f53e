//===- ConstantElements.h - Elements of evaluated tensors -----------------===//

#ifndef FRIT_DIALECTS_NN_CONSTANTS_CONSTANTELEMENTS_H
#define FRIT_DIALECTS_NN_CONSTANTS_CONSTANTELEMENTS_H

#include "dialects/nn/NN.h"
#include "dialects/nn/StridedView.h"

#include <memory>
#include <optional>
#include <vector>

namespace frit::nn {

/// The elements of an evaluated tensor. Bools are 0 and 1. Integers are exact:
/// a tensor with one beyond 2^24 is not evaluated.
struct ConstantElements {
  std::shared_ptr<const std::vector<float>> data;
  /// Where the elements are in `data`; strides of repeated dimensions are 0.
  nn::StridedPlaces places;

  llvm::ArrayRef<int64_t> shape() const { return places.shape; }
  /// Returns the shape with 1 for each dimension along which elements repeat.
  llvm::SmallVector<int64_t> distinctShape() const;
  /// Returns the distinct elements in row-major order.
  std::vector<float> distinct() const;

  /// Returns the elements of a tensor of `shape` whose distinct ones, `data`,
  /// have the shape `distinct`.
  static ConstantElements of(std::vector<float> data,
                             llvm::ArrayRef<int64_t> distinct,
                             llvm::ArrayRef<int64_t> shape);
};

/// Returns the elements with indices in `shape` in row-major order. `shape` is
/// that of `x`, with 1 for some of the dimensions along which elements repeat.
std::vector<float> readElements(const ConstantElements &x,
                                llvm::ArrayRef<int64_t> shape);

/// Returns the elements of a constant of floats, bools or integers.
std::optional<ConstantElements> readConstant(nn::ConstantOp constant);

/// Calls `line(starts, count, steps)` for each line along the last dimension of
/// `shape`, in order. Line i of an operand starts at starts[i].
template <class Line>
void forEachLine(llvm::ArrayRef<int64_t> shape,
                 llvm::ArrayRef<const nn::StridedPlaces *> operands,
                 const Line &line) {
  if (llvm::is_contained(shape, 0))
    return;
  const size_t outer = shape.empty() ? 0 : shape.size() - 1;
  llvm::SmallVector<int64_t, 3> at, steps;
  for (const nn::StridedPlaces *operand : operands) {
    at.push_back(operand->offset);
    steps.push_back(shape.empty() ? 0 : operand->strides.back());
  }
  llvm::SmallVector<int64_t> index(outer, 0);
  while (true) {
    line(llvm::ArrayRef(at), shape.empty() ? 1 : shape.back(),
         llvm::ArrayRef(steps));
    size_t d = outer;
    while (d > 0) {
      --d;
      for (auto [i, operand] : llvm::enumerate(operands))
        at[i] += operand->strides[d];
      if (++index[d] < shape[d])
        break;
      for (auto [i, operand] : llvm::enumerate(operands))
        at[i] -= operand->strides[d] * shape[d];
      index[d] = 0;
      if (d == 0)
        return;
    }
    if (outer == 0)
      return;
  }
}

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_CONSTANTS_CONSTANTELEMENTS_H
