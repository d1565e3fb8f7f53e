/* app.c - two models in a C program: an upright stroke is a one to both. */

#include "digits.h"
#include "wide.h"

#include <stdio.h>

static int run(const frit_image *image, void *input, void *output) {
  frit_module *module;
  frit_context *context;
  frit_tensor x, y;
  if (frit_module_open(image, NULL, &module) ||
      frit_context_create(module, &context) ||
      frit_module_input_tensor(module, 0, input, &x) ||
      frit_module_output_tensor(module, 0, output, &y) ||
      frit_run(context, &x, 1, &y, 1))
    return fprintf(stderr, "%s\n", frit_last_error()), 1;
  frit_context_destroy(context);
  frit_module_close(module);
  return 0;
}

int main(void) {
  float image[64] = {0}, narrow[10];
  double wideImage[64] = {0}, wide[10];
  for (int row = 0; row < 8; ++row)
    image[8 * row + 3] = wideImage[8 * row + 3] = 1;
  if (run(&digits_image, image, narrow) || run(&wide_image, wideImage, wide))
    return 1;
  printf("%.3f %.3f\n", narrow[1], wide[1]);
  return 0;
}
