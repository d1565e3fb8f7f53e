//===- ServedModel.h - An open model and memory for calls of it -----------===//

#ifndef FRIT_TEST_RUNTIME_SERVEDMODEL_H
#define FRIT_TEST_RUNTIME_SERVEDMODEL_H

#include "CountedMemory.h"
#include "frit/runtime.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace frit::test {

/// Host memory for the inputs or the outputs of a model.
struct Arrays {
  std::vector<std::vector<char>> memory;
  std::vector<frit_tensor> tensors;
};

/// An open model.
struct ServedModel {
  ServedModel() = default;
  ServedModel(const ServedModel &) = delete;
  ~ServedModel() { frit_module_close(module); }

  frit_status open(const std::string &path, const std::string &device,
                   CountedMemory *memory = nullptr) {
    frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
    options.device = device.c_str();
    options.threads = 2;
    if (memory)
      options.allocator = memory->allocator();
    // For example, a library accepts a step in one context and declines it in
    // another.
    options.remark = [](void *, const char *message) {
      static std::atomic<int> shown = 0;
      if (shown++ < 20)
        fprintf(stderr, "serve: remark: %s\n", message);
    };
    return frit_module_load(path.c_str(), &options, &module);
  }

  frit_module *module = nullptr;
};

/// Ends the program with the runtime's last error.
[[noreturn]] inline void stop(const char *what) {
  fprintf(stderr, "serve: %s: %s\n", what, frit_last_error());
  exit(1);
}

/// Fills a tensor's memory with small numbers that depend on the seed, and
/// advances it. Integers are valid indices of most tables.
inline void fill(std::vector<char> &memory, frit_dtype type, unsigned &seed) {
  size_t size = frit_dtype_size(type);
  for (size_t k = 0; k * size < memory.size(); ++k) {
    seed = seed * 1664525 + 1013904223;
    char *at = &memory[k * size];
    if (type == FRIT_F32) {
      float value = float(seed >> 8) / float(1 << 23) - 1;
      memcpy(at, &value, size);
    } else if (type == FRIT_F16 || type == FRIT_BF16) {
      uint16_t half = 0x3000 | (seed >> 24);
      memcpy(at, &half, size);
    } else {
      *at = char(type == FRIT_BOOL ? 1 : (seed >> 24) % 16);
    }
  }
}

/// Makes arrays of zeros for the tensors of `describe` and `bind`.
template <typename Describe, typename Bind>
Arrays makeArrays(frit_module *module, uint32_t count, Describe describe,
                  Bind bind) {
  Arrays made;
  made.memory.resize(count);
  made.tensors.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    frit_tensor_info info;
    if (describe(module, i, &info))
      stop("describe a tensor");
    made.memory[i].resize(info.bytes);
    if (bind(module, i, made.memory[i].data(), &made.tensors[i]))
      stop("bind a tensor");
  }
  return made;
}

/// Makes inputs whose values depend on the seed.
inline Arrays makeInputs(frit_module *module, unsigned seed) {
  Arrays made = makeArrays(module, frit_module_input_count(module),
                           frit_module_input, frit_module_input_tensor);
  for (size_t i = 0; i < made.memory.size(); ++i)
    fill(made.memory[i], made.tensors[i].dtype, seed);
  return made;
}

inline Arrays makeOutputs(frit_module *module) {
  return makeArrays(module, frit_module_output_count(module),
                    frit_module_output, frit_module_output_tensor);
}

inline frit_status run(frit_context *context, const Arrays &inputs,
                       const Arrays &outputs) {
  return frit_run(context, inputs.tensors.data(),
                  uint32_t(inputs.tensors.size()), outputs.tensors.data(),
                  uint32_t(outputs.tensors.size()));
}

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_SERVEDMODEL_H
