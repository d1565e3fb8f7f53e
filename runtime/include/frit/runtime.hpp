//===- runtime.hpp - C++ wrapper of runtime.h -----------------------------===//
//
// Owning handles and nothing more: every call is the C call of the same name,
// documented in runtime.h. Nothing throws. A frit::Error converts to true on
// failure and carries the message.
//
//   frit::Module module;
//   if (auto error = frit::Module::load("model.so", module))
//     return report(error.message());
//   frit::Context context;
//   if (auto error = frit::Context::create(module, context)) ...
//   if (auto error = context.run({module.bindInput(0, pixels)},
//                                {module.bindOutput(0, scores)})) ...
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_HPP
#define FRIT_RUNTIME_HPP

#if __cplusplus < 202002L
#error "frit/runtime.hpp takes C++20 (-std=c++20); frit/runtime.h takes any"
#endif

#include "frit/runtime.h"

#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace frit {

/// The outcome of a call; true means failure.
class [[nodiscard]] Error {
public:
  Error() = default;
  /// Copies the thread's frit_last_error() if `status` is a failure.
  explicit Error(frit_status status) : code(status) {
    if (status != FRIT_OK)
      text = frit_last_error();
  }

  explicit operator bool() const { return code != FRIT_OK; }
  frit_status status() const { return code; }
  const std::string &message() const { return text; }

private:
  frit_status code = FRIT_OK;
  std::string text;
};

/// A model made ready for one device. Movable, not copyable; must outlive the
/// contexts made from it.
class Module {
public:
  Module() = default;
  Module(Module &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  Module &operator=(Module &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Module() { frit_module_close(handle); }

  static Error open(const frit_image &image, Module &result,
                    const frit_module_options *options = nullptr) {
    Module opened;
    Error error(frit_module_open(&image, options, &opened.handle));
    if (!error)
      result = std::move(opened);
    return error;
  }

  static Error load(const char *path, Module &result,
                    const frit_module_options *options = nullptr) {
    Module opened;
    Error error(frit_module_load(path, options, &opened.handle));
    if (!error)
      result = std::move(opened);
    return error;
  }

  /// Opens another function of this module's artifact. Modules may be
  /// destroyed in any order.
  Error openFunction(const char *name, Module &result) const {
    Module opened;
    Error error(frit_module_open_function(handle, name, &opened.handle));
    if (!error)
      result = std::move(opened);
    return error;
  }
  uint32_t functionCount() const { return frit_module_function_count(handle); }
  /// Returns null if there is no such index.
  const char *functionName(uint32_t index) const {
    return frit_module_function_name(handle, index);
  }
  const char *function() const { return frit_module_function(handle); }
  frit_function_role role() const { return frit_module_role(handle); }

  const char *name() const { return frit_module_name(handle); }
  uint32_t inputCount() const { return frit_module_input_count(handle); }
  uint32_t outputCount() const { return frit_module_output_count(handle); }

  /// Returns a zeroed description if there is no such index.
  frit_tensor_info input(uint32_t index) const {
    frit_tensor_info info = {};
    (void)frit_module_input(handle, index, &info);
    return info;
  }
  frit_tensor_info output(uint32_t index) const {
    frit_tensor_info info = {};
    (void)frit_module_output(handle, index, &info);
    return info;
  }

  frit_tensor bindInput(uint32_t index, const void *data) const {
    frit_tensor tensor = {};
    (void)frit_module_input_tensor(handle, index, data, &tensor);
    return tensor;
  }
  frit_tensor bindOutput(uint32_t index, void *data) const {
    frit_tensor tensor = {};
    (void)frit_module_output_tensor(handle, index, data, &tensor);
    return tensor;
  }

  uint32_t symbolCount() const { return frit_module_symbol_count(handle); }
  /// Returns a zeroed description if there is no such index.
  frit_symbol_info symbol(uint32_t index) const {
    frit_symbol_info info = {};
    (void)frit_module_symbol(handle, index, &info);
    return info;
  }
  /// Returns the elements of an input that the model takes as indices.
  std::vector<frit_index_range> indexRanges(uint32_t input) const {
    std::vector<frit_index_range> ranges(
        frit_module_index_range_count(handle, input));
    for (uint32_t i = 0; i < ranges.size(); ++i)
      (void)frit_module_index_range(handle, input, i, &ranges[i]);
    return ranges;
  }

  /// Returns the symbol of each dimension, -1, or for inputs
  /// FRIT_SUM_OF_SYMBOLS; null when there is no such index.
  const int32_t *inputSymbols(uint32_t index) const {
    const int32_t *symbols = nullptr;
    (void)frit_module_input_symbols(handle, index, &symbols);
    return symbols;
  }
  const int32_t *outputSymbols(uint32_t index) const {
    const int32_t *symbols = nullptr;
    (void)frit_module_output_symbols(handle, index, &symbols);
    return symbols;
  }
  uint32_t counts() const { return frit_module_counts(handle); }
  /// Returns the count of each dimension, or -1; null when there is no such
  /// index.
  const int32_t *outputCounts(uint32_t index) const {
    const int32_t *counts = nullptr;
    (void)frit_module_output_counts(handle, index, &counts);
    return counts;
  }
  Error inputDims(const int64_t *sizes, uint32_t index, int64_t *dims) const {
    return Error(frit_module_input_dims(handle, sizes, index, dims));
  }
  Error outputDims(std::span<const frit_tensor> inputs, uint32_t index,
                   int64_t *dims) const {
    return Error(frit_module_output_dims(handle, inputs.data(),
                                         uint32_t(inputs.size()), index, dims));
  }

  uint32_t stateCount() const { return frit_module_state_count(handle); }
  /// Returns a zeroed description if there is no such index.
  frit_tensor_info state(uint32_t index) const {
    frit_tensor_info info = {};
    (void)frit_module_state(handle, index, &info);
    return info;
  }
  frit_state_role stateRole(uint32_t index) const {
    return frit_module_state_role(handle, index);
  }
  uint64_t stateBytes() const { return frit_module_state_bytes(handle); }
  uint64_t shardedStateBytes() const {
    return frit_module_sharded_state_bytes(handle);
  }

  uint32_t variantCount() const { return frit_module_variant_count(handle); }
  frit_variant_info variant(uint32_t target, uint32_t index) const {
    frit_variant_info info = {};
    (void)frit_module_variant(handle, target, index, &info);
    return info;
  }

  uint32_t targetCount() const { return frit_module_target_count(handle); }
  frit_target_info target(uint32_t index) const {
    frit_target_info info = {};
    (void)frit_module_target(handle, index, &info);
    return info;
  }

  frit_device_info device() const {
    frit_device_info info = {};
    (void)frit_module_device(handle, &info);
    return info;
  }

  frit_module *get() const { return handle; }

private:
  frit_module *handle = nullptr;
};

/// The memory and stream that one thread needs to run a module. Movable, not
/// copyable.
class Context {
public:
  Context() = default;
  Context(Context &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  Context &operator=(Context &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Context() { frit_context_destroy(handle); }

  static Error create(const Module &module, Context &result) {
    Context made;
    Error error(frit_context_create(module.get(), &made.handle));
    if (!error)
      result = std::move(made);
    return error;
  }

  /// Makes a context of another function that shares this one's state.
  Error createPeer(const Module &function, Context &result) {
    Context made;
    Error error(frit_context_create_peer(function.get(), handle, &made.handle));
    if (!error)
      result = std::move(made);
    return error;
  }

  Error readState(std::span<const frit_tensor> tensors) {
    return Error(
        frit_state_read(handle, tensors.data(), uint32_t(tensors.size())));
  }
  Error writeState(std::span<const frit_tensor> tensors) {
    return Error(
        frit_state_write(handle, tensors.data(), uint32_t(tensors.size())));
  }

  Error run(std::span<const frit_tensor> inputs,
            std::span<const frit_tensor> outputs) {
    return Error(frit_run(handle, inputs.data(), uint32_t(inputs.size()),
                          outputs.data(), uint32_t(outputs.size())));
  }
  Error run(std::initializer_list<frit_tensor> inputs,
            std::initializer_list<frit_tensor> outputs) {
    return run(std::span(inputs.begin(), inputs.size()),
               std::span(outputs.begin(), outputs.size()));
  }
  Error runAsync(std::span<const frit_tensor> inputs,
                 std::span<const frit_tensor> outputs) {
    return Error(frit_run_async(handle, inputs.data(), uint32_t(inputs.size()),
                                outputs.data(), uint32_t(outputs.size())));
  }
  /// Returns the shape that an output had in the last call.
  Error outputDims(uint32_t index, int64_t *dims) const {
    return Error(frit_context_output_dims(handle, index, dims));
  }
  Error synchronize() { return Error(frit_context_synchronize(handle)); }
  Error setStream(void *stream) {
    return Error(frit_context_set_stream(handle, stream));
  }

  frit_context *get() const { return handle; }

private:
  frit_context *handle = nullptr;
};

/// Copies inputs of later calls to the device while a call runs. The context
/// must outlive it. Movable, not copyable.
class Feed {
public:
  Feed() = default;
  Feed(Feed &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  Feed &operator=(Feed &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Feed() { frit_feed_destroy(handle); }

  static Error create(const Context &context, Feed &result) {
    Feed made;
    Error error(frit_feed_create(context.get(), &made.handle));
    if (!error)
      result = std::move(made);
    return error;
  }

  Error allocate(size_t bytes, void *&memory) {
    return Error(frit_feed_allocate(handle, bytes, &memory));
  }
  Error send(std::span<const frit_tensor> inputs) {
    return Error(
        frit_feed_send(handle, inputs.data(), uint32_t(inputs.size())));
  }
  /// Fills `inputs`, which has room for as many as were sent.
  Error take(std::span<frit_tensor> inputs) {
    return Error(frit_feed_take(handle, inputs.data()));
  }

  frit_feed *get() const { return handle; }

private:
  frit_feed *handle = nullptr;
};

} // namespace frit

#endif // FRIT_RUNTIME_HPP
