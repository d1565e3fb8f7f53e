//===- trace_test.cpp - What the steps of a call read and write -----------===//

#include "Check.h"
#include "TestModel.h"

#include <string>
#include <vector>

using namespace frit::test;

namespace {
/// A line for each step: its operands, "o", and results, "r", each with the
/// step that wrote it; "-" if none did.
struct Seen {
  std::string text;
  std::vector<std::vector<float>> operands; ///< of the first step

  static void visit(void *user, const frit_step_info *step,
                    const frit_step_tensor *tensors, uint32_t count) {
    auto &seen = *static_cast<Seen *>(user);
    seen.text += std::string(step->node) + ":";
    for (uint32_t i = 0; i < count; ++i) {
      const frit_step_tensor &tensor = tensors[i];
      CHECK(tensor.data);
      seen.text += tensor.is_result ? " r" : " o";
      seen.text +=
          tensor.step == FRIT_NO_STEP ? "-" : std::to_string(tensor.step);
    }
    // The test's plan has no types.
    if (count == 4 && !tensors[0].is_result) {
      auto *x = static_cast<const float *>(tensors[0].data);
      auto *bias = static_cast<const float *>(tensors[2].data);
      seen.operands = {{x, x + 32}, {bias, bias + 3}};
    }
    seen.text += "\n";
  }
};
} // namespace

int main() {
  Model model = makeTestModel();
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = "cpu";
  frit_module *module = nullptr;
  frit_context *context = nullptr;
  CHECK(!frit_module_open(model.get(), &options, &module));
  CHECK(!frit_context_create(module, &context));
  std::vector<float> x(32), y(12), z(12);
  for (int i = 0; i < 32; ++i)
    x[i] = float(i);
  std::vector<int64_t> ids = {1, 2, 3, 4};
  frit_tensor inputs[2], outputs[2];
  CHECK(!frit_module_input_tensor(module, 0, x.data(), &inputs[0]));
  CHECK(!frit_module_input_tensor(module, 1, ids.data(), &inputs[1]));
  CHECK(!frit_module_output_tensor(module, 0, y.data(), &outputs[0]));
  CHECK(!frit_module_output_tensor(module, 1, z.data(), &outputs[1]));

  Seen results;
  CHECK(!frit_trace(context, inputs, 2, outputs, 2, /*operands=*/0, Seen::visit,
                    &results));
  CHECK(results.text == "fc: r0\nadd: r1\nidentity: r2\n");
  Seen all;
  CHECK(!frit_trace(context, inputs, 2, outputs, 2, /*operands=*/1, Seen::visit,
                    &all));
  CHECK(all.text == "fc: o- o- o- r0\nadd: o0 o- r1\nidentity: o1 r2\n");
  // An input, and a weight that is computed when the model is opened.
  CHECK(all.operands.size() == 2 && all.operands[0] == x &&
        all.operands[1] == std::vector<float>({2, -4, 6}));
  CHECK(y == z);
  CHECK(frit_trace(context, inputs, 2, outputs, 2, 1, nullptr, nullptr) ==
        FRIT_INVALID_ARGUMENT);
  frit_context_destroy(context);
  frit_module_close(module);
  return finish("trace_test");
}
