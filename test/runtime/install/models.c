/* models.c - a model in a static library. */

#include "inner.h"

unsigned countInputs(void) {
  frit_module *module;
  if (frit_module_open(&inner_image, NULL, &module))
    return 0;
  unsigned count = frit_module_input_count(module);
  frit_module_close(module);
  return count;
}
