/* run_model.c - runs a compiled model: run_model MODEL INPUT... -- OUTPUT...

   Files are the bytes of tensors. Prints the target that ran. */

#include "frit/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 16 };

static int fail(const char *what) {
  fprintf(stderr, "run_model: %s: %s\n", what, frit_last_error());
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = "cpu";
  frit_module *module = NULL;
  frit_context *context = NULL;
  if (frit_module_load(argv[1], &options, &module) ||
      frit_context_create(module, &context))
    return fail(argv[1]);
  frit_tensor inputs[kMost], outputs[kMost];
  uint32_t inputCount = 0, outputCount = 0;
  int at = 2;
  for (; at < argc && strcmp(argv[at], "--"); ++at, ++inputCount) {
    frit_tensor_info info;
    if (inputCount == kMost || frit_module_input(module, inputCount, &info))
      return fail("input");
    size_t bytes = (size_t)info.bytes;
    void *data = malloc(bytes);
    FILE *file = fopen(argv[at], "rb");
    if (!data || !file || fread(data, 1, bytes, file) != bytes) {
      perror(argv[at]);
      return 1;
    }
    fclose(file);
    if (frit_module_input_tensor(module, inputCount, data, &inputs[inputCount]))
      return fail("input");
  }
  int first = at + 1;
  for (at = first; at < argc; ++at, ++outputCount) {
    frit_tensor_info info;
    if (outputCount == kMost || frit_module_output(module, outputCount, &info))
      return fail("output");
    void *data = malloc((size_t)info.bytes);
    if (!data || frit_module_output_tensor(module, outputCount, data,
                                           &outputs[outputCount]))
      return fail("output");
  }
  if (frit_run(context, inputs, inputCount, outputs, outputCount))
    return fail("run");
  for (uint32_t i = 0; i < outputCount; ++i) {
    frit_tensor_info info;
    FILE *file = fopen(argv[first + (int)i], "wb");
    if (frit_module_output(module, i, &info) || !file ||
        fwrite(outputs[i].data, (size_t)info.bytes, 1, file) != 1 ||
        fclose(file)) {
      perror(argv[first + (int)i]);
      return 1;
    }
    free(outputs[i].data);
  }
  for (uint32_t i = 0; i < inputCount; ++i)
    free(inputs[i].data);
  frit_target_info target;
  for (uint32_t i = 0; !frit_module_target(module, i, &target); ++i)
    if (target.chosen)
      puts(target.arch);
  frit_context_destroy(context);
  frit_module_close(module);
  return 0;
}
