/* outer.c - a program that links a static library with a model. */

#include <stdio.h>

unsigned countInputs(void);

int main(void) {
  printf("%u input\n", countInputs());
  return 0;
}
