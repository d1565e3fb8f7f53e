/* many.c - runs all models of models.h at once, each on a thread of its own.

   many DEVICE           those that this program was linked with
   many DEVICE FOLDER    the shared libraries in FOLDER */

#include "models.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { CALLS = 50 };

static const char *device, *folder;

/* What is wrong with a model, or null. */
static void *check(void *argument) {
  const struct model *model = argument;
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = device;
  options.threads = 1;
  frit_module *module;
  frit_context *context;
  frit_tensor x, y;
  float output[OUTPUTS];
  char path[4096];
  if (folder)
    snprintf(path, sizeof path, "%s/%s.so", folder, model->name);
  if ((folder ? frit_module_load(path, &options, &module)
              : frit_module_open(model->image, &options, &module)) ||
      frit_context_create(module, &context) ||
      frit_module_input_tensor(module, 0, input, &x) ||
      frit_module_output_tensor(module, 0, output, &y))
    return fprintf(stderr, "%s: %s\n", model->name, frit_last_error()),
           argument;
  for (int call = 0; call < CALLS; ++call) {
    if (frit_run(context, &x, 1, &y, 1))
      return fprintf(stderr, "%s: %s\n", model->name, frit_last_error()),
             argument;
    for (int i = 0; i < OUTPUTS; ++i)
      if (!(fabsf(output[i] - model->expected[i]) <=
            1e-5f * (1 + fabsf(model->expected[i]))))
        return fprintf(stderr, "%s: element %d is %g, not %g\n", model->name, i,
                       output[i], model->expected[i]),
               argument;
  }
  frit_context_destroy(context);
  frit_module_close(module);
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 2)
    return 2;
  device = arguments[1];
  folder = arguments[2];
  pthread_t threads[MODELS];
  int wrong = 0;
  for (int i = 0; i < MODELS; ++i)
    if (pthread_create(&threads[i], NULL, check, (void *)&models[i]))
      return 1;
  for (int i = 0; i < MODELS; ++i) {
    void *result;
    pthread_join(threads[i], &result);
    wrong += result != NULL;
  }
  printf("%d models, %d wrong\n", MODELS, wrong);
  return wrong != 0;
}
