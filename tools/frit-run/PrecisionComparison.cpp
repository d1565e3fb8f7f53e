//===- PrecisionComparison.cpp - Compare a model with its shadow ----------===//

#include "Precision.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

using namespace frit::run;

static bool isFloat(frit_dtype type) {
  return type == FRIT_F16 || type == FRIT_BF16 || type == FRIT_F32;
}

static frit::run::Tensor copyOf(const frit_step_tensor &tensor) {
  auto *bytes = static_cast<const uint8_t *>(tensor.data);
  frit::run::Tensor copy;
  copy.dtype = tensor.dtype;
  copy.dims = {int64_t(tensor.count)};
  copy.data = frit::tools::Storage(
      bytes, bytes + tensor.count * frit_dtype_size(tensor.dtype));
  return copy;
}

void PrecisionComparison::Places::beginStep(const char *of) {
  node = of;
  step = steps[node]++;
  operands = 0;
}

PrecisionComparison::Place PrecisionComparison::Places::next(bool isResult) {
  return isResult ? Place{node, true, 0, results[node]++}
                  : Place{node, false, step, operands++};
}

static PrecisionRow measure(const frit::run::Tensor &result,
                            const frit::run::Tensor &shadow) {
  PrecisionRow row;
  row.type = result.type();
  bool isHalf = result.dtype == FRIT_F16;
  double most = isHalf ? 65504 : 3.3895e38, least = isHalf ? 0x1p-25 : 0x1p-134;
  double difference = 0, rounding = 0, norm = 0;
  frit::run::Tensor rounded;
  rounded.dtype = result.dtype;
  rounded.data.resize(frit_dtype_size(result.dtype));
  for (uint64_t i = 0; i < result.count(); ++i) {
    double x = result.at(i), y = shadow.at(i), size = std::fabs(y);
    if (!std::isfinite(y))
      continue;
    if (size > 0 && (row.least == 0 || size < row.least))
      row.least = size;
    row.largest = std::max(row.largest, size);
    row.over += size > most;
    row.under += size > 0 && size < least;
    norm += y * y;
    if (x != y)
      difference += (x - y) * (x - y);
    rounded.set(0, y);
    rounding += (rounded.at(0) - y) * (rounded.at(0) - y);
  }
  row.error = std::sqrt(norm > 0 ? difference / norm : difference);
  row.rounding = std::sqrt(norm > 0 ? rounding / norm : 0);
  // Rounding to nearest has a relative error of at most 2^-11, or 2^-8, for
  // normal numbers.
  row.isToBlame = row.rounding > (isHalf ? 0x1p-10 : 0x1p-7);
  return row;
}

void PrecisionComparison::store(void *user, const frit_step_info *step,
                                const frit_step_tensor *tensors,
                                uint32_t number) {
  auto &self = *static_cast<PrecisionComparison *>(user);
  self.places.beginStep(step->node);
  for (const frit_step_tensor &tensor : std::span(tensors, number)) {
    if (!isFloat(tensor.dtype) || !tensor.count)
      continue;
    Place place = self.places.next(tensor.is_result);
    if (tensor.dtype != FRIT_F32)
      self.stored.insert({std::move(place), {copyOf(tensor), tensor.step}});
  }
}

void PrecisionComparison::compare(void *user, const frit_step_info *step,
                                  const frit_step_tensor *tensors,
                                  uint32_t number) {
  auto &self = *static_cast<PrecisionComparison *>(user);
  self.places.beginStep(step->node);
  for (const frit_step_tensor &tensor : std::span(tensors, number))
    if (isFloat(tensor.dtype) && tensor.count)
      self.compare(self.places.next(tensor.is_result), tensor);
}

void PrecisionComparison::compare(const Place &place,
                                  const frit_step_tensor &tensor) {
  auto it = stored.find(place);
  if (it == stored.end() || it->second.tensor.count() != tensor.count)
    return;
  auto [narrowed, step] = std::move(it->second);
  stored.erase(it);
  // Do not compare a result again as an operand.
  if (!place.isResult && compared.contains(step))
    return;
  if (tensor.dtype != FRIT_F32) {
    ++narrow;
    modelType = narrowed.dtype;
    shadowType = tensor.dtype;
    return;
  }
  (place.isResult ? compared : read).insert(step);
  PrecisionRow row = measure(narrowed, copyOf(tensor));
  row.node = place.node;
  row.tensor =
      (place.isResult ? "result " : "operand ") + std::to_string(place.index);
  rows.push_back(std::move(row));
}

bool PrecisionComparison::run(Session &model, Session &shadow) {
  auto trace = [](Session &session, auto visit, void *user) {
    std::vector<frit_tensor> inputs = session.bindInputs();
    Error error(frit_trace(session.context.get(), inputs.data(),
                           uint32_t(inputs.size()), nullptr, 0,
                           /*operands=*/1, visit, user));
    return error ? session.failed(error) : true;
  };
  void (*storing)(void *, const frit_step_info *, const frit_step_tensor *,
                  uint32_t) = store;
  void (*comparing)(void *, const frit_step_info *, const frit_step_tensor *,
                    uint32_t) = compare;
  if (!trace(model, storing, this))
    return false;
  places = {};
  if (!trace(shadow, comparing, this))
    return false;
  for (const auto &[place, rest] : stored)
    alone += place.isResult && !read.contains(rest.step);
  // Causes come first, the largest rounding error before others; then tensors
  // with NaN, then the rest by error.
  auto badness = [](const PrecisionRow &row) {
    bool isNan = std::isnan(row.error);
    return std::tuple(row.isToBlame ? row.rounding : 0, isNan,
                      isNan ? 0 : row.error);
  };
  std::ranges::stable_sort(rows,
                           [&](const PrecisionRow &a, const PrecisionRow &b) {
                             return badness(a) > badness(b);
                           });
  return true;
}
