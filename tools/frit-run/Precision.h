//===- Precision.h - Compare 16-bit numbers with f32 ----------------------===//

#ifndef FRIT_TOOLS_FRIT_RUN_PRECISION_H
#define FRIT_TOOLS_FRIT_RUN_PRECISION_H

#include "Session.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace frit::run {

/// The difference between a tensor and the shadow's.
struct PrecisionRow {
  std::string node, tensor, type;
  double error = 0;    ///< relative error of the model's numbers
  double rounding = 0; ///< relative error after rounding to the type
  double least = 0;    ///< magnitude of the shadow's smallest nonzero number
  double largest = 0;  ///< magnitude of the shadow's largest number
  uint64_t over = 0, under = 0;
  /// Whether the type cannot represent the shadow's numbers: some overflow, or
  /// are so small that their rounding error is twice that of others.
  bool isToBlame = false;
};

/// Compares what a model stores in 16 bits with what its shadow, the same model
/// computed in f32, stores there:
///
/// - results, matched by the nodes that compute them;
///
/// - operands that have not been compared as results: inputs, weights and other
///   values that a cast has narrowed. They count for the node that reads them,
///   because the cast disappears if that node computes in f32.
class PrecisionComparison {
public:
  /// Runs both. Prints an error and returns false if that fails.
  bool run(Session &model, Session &shadow);

  std::vector<PrecisionRow> rows; ///< worst first
  uint64_t alone = 0;  ///< results of the model without a counterpart
  uint64_t narrow = 0; ///< tensors that the shadow stores in 16 bits as well
  frit_dtype modelType{}, shadowType{}; ///< types of such a tensor

private:
  /// Position of a tensor in a run. Results are numbered over all steps of a
  /// node, operands within their step.
  struct Place {
    std::string node;
    bool isResult;
    size_t step; ///< of an operand: counted in the node
    size_t index;

    auto operator<=>(const Place &) const = default;
  };

  /// Numbers the tensors of a run.
  struct Places {
    void beginStep(const char *node);
    Place next(bool isResult);

    std::string node;
    size_t step = 0, operands = 0;
    std::map<std::string, size_t> steps, results;
  };

  /// A tensor of the model in 16 bits, and the step that wrote it.
  struct Narrow {
    Tensor tensor;
    uint32_t step;
  };

  /// Visitors of frit_trace: store the model's tensors, and compare the
  /// shadow's with them.
  static void store(void *user, const frit_step_info *step,
                    const frit_step_tensor *tensors, uint32_t number);
  static void compare(void *user, const frit_step_info *step,
                      const frit_step_tensor *tensors, uint32_t number);
  void compare(const Place &place, const frit_step_tensor &tensor);

  Places places;
  std::map<Place, Narrow> stored;
  std::set<uint32_t> compared; ///< steps of the model with compared results
  std::set<uint32_t> read; ///< steps whose results were compared as operands
};

} // namespace frit::run

#endif // FRIT_TOOLS_FRIT_RUN_PRECISION_H
