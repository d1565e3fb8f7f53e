// app.cpp - two models in a C++ program: an upright stroke is a one to both.

#include "digits.h"
#include "frit/runtime.hpp"
#include "wide.h"

#include <cstdio>

template <typename T>
static bool run(const frit_image &image, T *input, T *output) {
  frit::Module module;
  frit::Context context;
  frit::Error error = frit::Module::open(image, module);
  if (!error)
    error = frit::Context::create(module, context);
  if (!error)
    error = context.run({module.bindInput(0, input)},
                        {module.bindOutput(0, output)});
  if (error)
    std::fprintf(stderr, "%s\n", error.message().c_str());
  return !error;
}

int main() {
  float image[64] = {}, narrow[10];
  double wideImage[64] = {}, wide[10];
  for (int row = 0; row < 8; ++row)
    image[8 * row + 3] = wideImage[8 * row + 3] = 1;
  if (!run(digits_image, image, narrow) || !run(wide_image, wideImage, wide))
    return 1;
  std::printf("%.3f %.3f\n", narrow[1], wide[1]);
}
