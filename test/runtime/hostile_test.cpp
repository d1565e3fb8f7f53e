//===- hostile_test.cpp - Damaged plans never crash the runtime -----------===//
//
// Damaged plans are rejected or run. Host kernels are trusted code, so here
// they access nothing: the test is that no plan makes the runtime itself access
// memory out of bounds. Also run under the address sanitizer.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "DerivedModel.h"
#include "StringModel.h"
#include "TestModel.h"

#include <algorithm>
#include <random>

using namespace frit::test;

static void nothing(void *const *, void *, int64_t, int64_t) {}

/// Runs with size 1 for every symbol, in memory for the largest size.
static void runSmaller(frit_module *module, frit_context *context,
                       std::vector<frit_tensor> inputs,
                       std::vector<frit_tensor> outputs) {
  std::vector<std::vector<int64_t>> shapes;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const int32_t *symbols = nullptr;
    CHECK(!frit_module_input_symbols(module, i, &symbols));
    std::vector<int64_t> &dims =
        shapes.emplace_back(inputs[i].dims, inputs[i].dims + inputs[i].rank);
    for (uint32_t dim = 0; dim < dims.size(); ++dim)
      if (symbols[dim] >= 0)
        dims[dim] = std::min<int64_t>(dims[dim], 1);
    inputs[i].dims = dims.data();
  }
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    std::vector<int64_t> &dims = shapes.emplace_back(outputs[i].rank);
    if (frit_module_output_dims(module, inputs.data(), uint32_t(inputs.size()),
                                i, dims.data()))
      return;
    outputs[i].dims = dims.data();
  }
  (void)frit_run(context, inputs.data(), uint32_t(inputs.size()),
                 outputs.data(), uint32_t(outputs.size()));
}

/// Opens the image and runs it if that succeeds. Returns whether it opened.
static bool survive(const frit_image *image) {
  static const frit_module_options options = {sizeof(frit_module_options),
                                              "cpu",
                                              nullptr,
                                              0,
                                              1,
                                              nullptr,
                                              nullptr,
                                              0,
                                              {}};
  frit_module *module = nullptr;
  if (frit_module_open(image, &options, &module)) {
    CHECK(*frit_last_error());
    return false;
  }
  frit_context *context = nullptr;
  if (!frit_context_create(module, &context)) {
    std::vector<std::vector<uint8_t>> memory;
    std::vector<frit_tensor> inputs, outputs;
    bool small = true;
    auto add = [&](std::vector<frit_tensor> &tensors, frit_tensor_info info) {
      small &= info.bytes < (1 << 20);
      memory.emplace_back(small ? info.bytes : 0);
      tensors.push_back({nullptr, memory.back().data(), info.dtype, info.rank,
                         info.dims, FRIT_HOST});
    };
    frit_tensor_info info;
    for (uint32_t i = 0; !frit_module_input(module, i, &info); ++i)
      add(inputs, info);
    for (uint32_t i = 0; !frit_module_output(module, i, &info); ++i)
      add(outputs, info);
    if (small) {
      (void)frit_run(context, inputs.data(), uint32_t(inputs.size()),
                     outputs.data(), uint32_t(outputs.size()));
      runSmaller(module, context, inputs, outputs);
    }
    frit_context_destroy(context);
  }
  frit_module_close(module);
  return true;
}

static void damage(Model whole) {
  whole.kernels = {nothing, nothing};
  CHECK(survive(whole.get()));

  // Every truncation, with the image's size updated and not.
  for (size_t bytes = 0; bytes < whole.plan.size(); ++bytes) {
    Model cut = whole;
    cut.plan.resize(bytes);
    CHECK(!survive(cut.get()));
  }
  if (!whole.weights.empty()) {
    Model cut = whole;
    cut.weights.resize(cut.weights.size() - 1);
    CHECK(!survive(cut.get()));
  }

  // Every byte set to values that are likely to break comparisons.
  for (size_t at = 0; at < whole.plan.size(); ++at)
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      Model changed = whole;
      changed.plan[at] = value;
      survive(changed.get());
    }

  // Several bytes at once.
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    Model changed = whole;
    for (int flips = 1 + int(random() % 4); flips; --flips)
      changed.plan[random() % changed.plan.size()] ^=
          uint8_t(1 << random() % 8);
    survive(changed.get());
  }

  // Whole fields.
  const uint64_t extremes[] = {~0ull, 1ull << 63, 1ull << 40, 1ull << 32,
                               0xffffffffull};
  for (size_t at = 0; at + 8 <= whole.plan.size(); at += 4)
    for (uint64_t extreme : extremes) {
      Model changed = whole;
      memcpy(changed.plan.data() + at, &extreme, 8);
      survive(changed.get());
    }
}

int main() {
  damage(makeTestModel());
  damage(makeOpenModel());
  damage(makeSizedModel());
  damage(makeGuardedModel());
  damage(makeDerivedModel());
  damage(makeStringModel());
  return finish("hostile_test");
}
