//===- LibraryProblem.h - A plan of one library call ----------------------===//

#ifndef FRIT_TEST_RUNTIME_LIBRARYPROBLEM_H
#define FRIT_TEST_RUNTIME_LIBRARYPROBLEM_H

#include "Check.h"
#include "Numbers.h"
#include "frit/runtime.hpp"

namespace frit::test {

inline constexpr uint64_t kWorkspace = 32 << 20;

inline const char *nameOf(Compute compute) {
  static const char *const names[] = {"f32", "tf32", "f16", "f64", "i32"};
  return names[uint32_t(compute)];
}

inline const char *nameOf(Activation activation) {
  static const char *const names[] = {"", "relu", "geluTanh", "gelu", "silu"};
  return names[uint32_t(activation)];
}

/// A plan of one library call; its operands are the model's inputs.
class Problem {
public:
  Buffer operand(DType type, int64_t count, bool whole = false) {
    std::string name = "in" + std::to_string(inputs.size());
    std::vector<uint8_t> bytes =
        pack(numbers(size_t(count), unsigned(inputs.size()) + 1, whole), type);
    values.push_back(unpack(bytes, type));
    inputs.push_back(std::move(bytes));
    return plan.input(name, type, {count});
  }

  Buffer result(DType type, int64_t count) {
    resultType = type;
    resultCount = count;
    return plan.output("out", type, {count});
  }

  static Buffer workspace() { return PlanWriter::arena(0, kWorkspace, true); }

  /// Runs the plan and compares the result with `expected`. Prints `label` and
  /// the chosen algorithm.
  void check(const std::vector<double> &expected, double tolerance,
             const std::string &label, const char *library) {
    plan.target("sm_90a");
    plan.program().arenaBytes = kWorkspace;
    Model model = plan.finish(label);
    frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
    options.device = "cuda";
    std::string remarks;
    options.remark_user = &remarks;
    options.remark = [](void *user, const char *message) {
      *static_cast<std::string *>(user) += message;
    };
    frit::Module module;
    frit::Context context;
    frit::Error error = frit::Module::open(*model.get(), module, &options);
    if (!error)
      error = frit::Context::create(module, context);
    std::vector<frit_tensor> bound;
    for (size_t i = 0; i < inputs.size() && !error; ++i)
      bound.push_back(module.bindInput(uint32_t(i), inputs[i].data()));
    std::vector<uint8_t> bytes(size_t(resultCount) * elementBytes(resultType));
    for (int call = 0; call < 2 && !error; ++call) {
      std::fill(bytes.begin(), bytes.end(), uint8_t(0xff));
      frit_tensor out = module.bindOutput(0, bytes.data());
      error = context.run(bound, {&out, 1});
    }
    if (error) {
      printf("%-44s %s\n", label.c_str(), error.message().c_str());
      ::frit::test::check(false, label.c_str(), __FILE__, __LINE__);
      return;
    }
    double relative = relativeError(unpack(bytes, resultType), expected);
    frit_step_info step;
    (void)frit_context_step(context.get(), 0, &step);
    printf("%-44s %-40s error %.1e %s\n", label.c_str(), step.kernel, relative,
           remarks.c_str());
    ::frit::test::check(relative <= tolerance && strstr(step.kernel, library),
                        label.c_str(), __FILE__, __LINE__);
  }

  PlanWriter plan;
  std::vector<std::vector<uint8_t>> inputs;
  std::vector<std::vector<double>> values; ///< the inputs after rounding
  DType resultType = DType::f32;
  int64_t resultCount = 0;
};

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_LIBRARYPROBLEM_H
