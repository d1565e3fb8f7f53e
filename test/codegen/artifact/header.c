/* header.c - opens the model of net.h */

#include "net.h"

#include <stdio.h>

int main(void) {
  frit_module *module;
  if (frit_module_open(&net_image, NULL, &module)) {
    fprintf(stderr, "error: %s\n", frit_last_error());
    return 1;
  }
  printf("opened: %u inputs\n", frit_module_input_count(module));
  frit_module_close(module);
  return 0;
}
