/* c_test.c - runtime.h is C, and a C program can do everything with it. */

#include "frit/runtime.h"

#include <stdio.h>
#include <string.h>

/* A library made from TestModel.cpp. */
static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, frit_last_error());
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = "cpu";
  frit_module *module = NULL;
  if (frit_module_load(argv[1], &options, &module))
    return fail("load");
  frit_context *context = NULL;
  if (frit_context_create(module, &context))
    return fail("create");

  float x[32] = {0}, y[12];
  int64_t ids[4] = {10, 20, 30, 40};
  frit_tensor inputs[2], output;
  if (frit_module_input_tensor(module, 0, x, &inputs[0]) ||
      frit_module_input_tensor(module, 1, ids, &inputs[1]) ||
      frit_module_output_tensor(module, 0, y, &output))
    return fail("describe");
  if (frit_run(context, inputs, 2, &output, 1))
    return fail("run");
  /* relu(2b) + ids, for b = {1, -2, 3} */
  const float expected[3] = {2, 0, 6};
  for (int i = 0; i < 12; ++i)
    if (y[i] != expected[i % 3] + (float)ids[i / 3]) {
      fprintf(stderr, "element %d is %g\n", i, (double)y[i]);
      return 1;
    }
  inputs[0].dtype = FRIT_F64;
  if (frit_run(context, inputs, 2, &output, 1) != FRIT_INVALID_ARGUMENT ||
      !strstr(frit_last_error(), "input 'x' must be 4x8xf32"))
    return fail("a wrong type");
  frit_context_destroy(context);
  frit_module_close(module);
  puts("c_test: passed");
  return 0;
}
