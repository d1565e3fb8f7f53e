//===- plan.cpp - Fuzz the runtime's check of plans -----------------------===//
//
// Opens and runs the plan on the CPU target and, with the fake driver, on the
// CUDA target. Kernels are trusted code and do nothing here. Tests that no plan
// makes the runtime access memory out of bounds.
//
//===----------------------------------------------------------------------===//

#include "frit/image.h"
#include "frit/runtime.h"
#include "test/fuzz/Target.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

using namespace frit;

static void nothing(void *const *, void *, int64_t, int64_t) {}

/// Larger tensors and plans are skipped because they take long.
static constexpr uint64_t kLargest = 1 << 20;

namespace {
/// Tensors for a call, with memory of exactly their sizes.
struct Tensors {
  std::vector<std::unique_ptr<uint8_t[]>> memory;
  std::vector<std::vector<int64_t>> dims;
  std::vector<frit_tensor> bound;
  uint64_t bytes = 0;

  /// Returns false if this would take too much memory.
  bool add(frit_dtype type, std::vector<int64_t> shape) {
    uint64_t size = frit_dtype_size(type);
    for (int64_t dim : shape)
      if (dim < 0 || __builtin_mul_overflow(size, uint64_t(dim), &size))
        return false;
    if (size > kLargest || (bytes += size) > kLargest)
      return false;
    memory.push_back(std::make_unique<uint8_t[]>(size));
    dims.push_back(std::move(shape));
    bound.push_back({nullptr, memory.back().get(), type,
                     uint32_t(dims.back().size()), dims.back().data(),
                     FRIT_HOST});
    return true;
  }
};
} // namespace

/// Calls the model with inputs of the largest size, or with `less` fewer in the
/// first dimension.
static void run(const frit_module *module, frit_context *context,
                int64_t less) {
  Tensors inputs, outputs;
  frit_tensor_info info;
  for (uint32_t i = 0; i < frit_module_input_count(module); ++i) {
    if (frit_module_input(module, i, &info))
      fuzz::broken("every input is described");
    std::vector<int64_t> dims(info.dims, info.dims + info.rank);
    if (!dims.empty())
      dims[0] -= less;
    if (!inputs.add(info.dtype, std::move(dims)))
      return;
  }
  auto *in = inputs.bound.data();
  uint32_t inCount = uint32_t(inputs.bound.size());
  for (uint32_t i = 0; i < frit_module_output_count(module); ++i) {
    if (frit_module_output(module, i, &info))
      fuzz::broken("every output is described");
    std::vector<int64_t> dims(info.rank);
    if (frit_module_output_dims(module, in, inCount, i, dims.data()) ||
        !outputs.add(info.dtype, std::move(dims)))
      return;
  }
  auto *out = outputs.bound.data();
  uint32_t outCount = uint32_t(outputs.bound.size());
  (void)frit_run(context, in, inCount, out, outCount);
  (void)frit_run(context, in, inCount, out, outCount);
  (void)frit_profile(
      context, in, inCount, out, outCount,
      [](void *, const frit_step_info *) {}, nullptr);
  // Data-dependent sizes must be within the upper bound.
  for (uint32_t i = 0; i < outCount; ++i) {
    std::vector<int64_t> dims(out[i].rank);
    if (frit_context_output_dims(context, i, dims.data()))
      return;
    for (size_t dim = 0; dim < dims.size(); ++dim)
      if (dims[dim] < 0 || dims[dim] > out[i].dims[dim])
        fuzz::broken("no output is longer than its memory");
  }
}

/// Reads the state and writes it back.
static void copyState(const frit_module *module, frit_context *context) {
  Tensors states;
  frit_tensor_info info;
  for (uint32_t i = 0; i < frit_module_state_count(module); ++i) {
    if (frit_module_state(module, i, &info))
      fuzz::broken("every state is described");
    if (!states.add(info.dtype, {info.dims, info.dims + info.rank}))
      return;
  }
  auto *all = states.bound.data();
  auto count = uint32_t(states.bound.size());
  if (frit_state_read(context, all, count) ||
      frit_state_write(context, all, count))
    fuzz::broken("state is read and written");
}

/// Reads all descriptions of a module.
static void describe(const frit_module *module) {
  for (uint32_t i = 0; i < frit_module_target_count(module); ++i) {
    frit_target_info info;
    if (frit_module_target(module, i, &info) || !memchr(info.arch, 0, 1 << 14))
      fuzz::broken("every target is described");
    for (uint32_t j = 0; j < frit_module_variant_count(module); ++j) {
      frit_variant_info variant;
      if (frit_module_variant(module, i, j, &variant))
        fuzz::broken("every variant is described");
    }
  }
  for (uint32_t i = 0; i < frit_module_output_count(module); ++i) {
    frit_tensor_info info;
    const int32_t *counts;
    if (frit_module_output(module, i, &info) ||
        frit_module_output_counts(module, i, &counts))
      fuzz::broken("every output is described");
    for (uint32_t dim = 0; dim < info.rank; ++dim)
      if (counts[dim] >= 0 &&
          uint32_t(counts[dim]) >= frit_module_counts(module))
        fuzz::broken("the count of an output exists");
  }
  for (uint32_t i = 0; i < frit_module_symbol_count(module); ++i) {
    frit_symbol_info info;
    if (frit_module_symbol(module, i, &info) || !memchr(info.name, 0, 1 << 14))
      fuzz::broken("every symbol is described");
  }
}

static void useContext(const frit_module *module, frit_context *context) {
  frit_step_info info;
  for (uint32_t i = 0; i < frit_context_step_count(context); ++i)
    if (frit_context_step(context, i, &info))
      fuzz::broken("every step is described");
  run(module, context, 0);
  run(module, context, 1);
  copyState(module, context);
}

/// Opens every function, and a peer of `context` for it.
static void openFunctions(frit_module *module, frit_context *context) {
  for (uint32_t i = 0; i < frit_module_function_count(module); ++i) {
    frit_module *function = nullptr;
    if (frit_module_open_function(module, frit_module_function_name(module, i),
                                  &function))
      continue;
    describe(function);
    frit_context *peer = nullptr;
    if (context && !frit_context_create_peer(function, context, &peer)) {
      useContext(function, peer);
      frit_context_destroy(peer);
    }
    frit_module_close(function);
  }
}

static void open(const frit_image &image, const char *device) {
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = device;
  options.threads = 1;
  // cuBLAS and cuDNN would not work with this driver.
  options.flags = FRIT_NO_CUBLAS | FRIT_NO_CUDNN;
  options.weights_folder = "/nonexistent";
  frit_module *module = nullptr;
  if (frit_module_open(&image, &options, &module)) {
    if (!*frit_last_error())
      fuzz::broken("an input is refused only with an error");
    return;
  }
  describe(module);
  frit_context *context = nullptr;
  if (!frit_context_create(module, &context))
    useContext(module, context);
  openFunctions(module, context);
  frit_context_destroy(context);
  frit_module_close(module);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const frit_host_kernel kernels[4] = {nothing, nothing, nothing,
                                              nothing};
  alignas(256) static const uint8_t weights[4096] = {};
  // Memory of exactly its size, aligned as in a file.
  void *memory;
  if (posix_memalign(&memory, 16, size))
    return 0;
  auto *plan = static_cast<uint8_t *>(memory);
  std::copy(data, data + size, plan);
  frit_image image = {FRIT_IMAGE_ABI, 4,       kernels,       plan,
                      size,           weights, sizeof weights};
  for (const char *device : {"none", "cpu", "cuda"})
    open(image, device);
  free(plan);
  return 0;
}
