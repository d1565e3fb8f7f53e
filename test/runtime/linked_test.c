/* linked_test.c - a program with a compiled model linked into it: reads an
   image of a digit from a .npy file and says which one it is. */

#include "digits.h"
#include "frit/runtime.h"

#include <stdio.h>
#include <stdlib.h>

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, frit_last_error());
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  float image[64], scores[10];
  unsigned char head[10];
  FILE *file = fopen(argv[1], "rb");
  if (!file || fread(head, 1, 10, file) != 10 ||
      fseek(file, 10 + head[8] + 256 * head[9], SEEK_SET) ||
      fread(image, 4, 64, file) != 64)
    return fail("read");
  fclose(file);

  frit_module *module = NULL;
  frit_context *context = NULL;
  if (frit_module_open(&digits_image, NULL, &module) ||
      frit_context_create(module, &context))
    return fail("open");
  frit_tensor input, output;
  if (frit_module_input_tensor(module, 0, image, &input) ||
      frit_module_output_tensor(module, 0, scores, &output) ||
      frit_run(context, &input, 1, &output, 1))
    return fail("run");
  frit_context_destroy(context);
  frit_module_close(module);

  int best = 0;
  for (int digit = 1; digit < 10; ++digit)
    if (scores[digit] > scores[best])
      best = digit;
  printf("%d\n", best);
  return best == atoi(argv[2]) ? 0 : 1;
}
