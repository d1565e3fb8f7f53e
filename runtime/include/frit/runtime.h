/*===- runtime.h - Run a compiled model -----------------------------------===*\
|*                                                                            *|
|* The C interface of the frit runtime. A program opens a model once, makes a *|
|* context for each thread that runs it, and calls frit_run:                  *|
|*                                                                            *|
|*   #include "model.h"                         // written by fritc           *|
|*   #include "frit/runtime.h"                                                *|
|*                                                                            *|
|*   frit_module *module;                                                     *|
|*   frit_context *context;                                                   *|
|*   if (frit_module_open(&model_image, NULL, &module) ||                     *|
|*       frit_context_create(module, &context))                               *|
|*     return fail(frit_last_error());                                        *|
|*   frit_tensor x, y;                                                        *|
|*   frit_module_input_tensor(module, 0, pixels, &x);                         *|
|*   frit_module_output_tensor(module, 0, scores, &y);                        *|
|*   if (frit_run(context, &x, 1, &y, 1))                                     *|
|*     return fail(frit_last_error());                                        *|
|*                                                                            *|
|* Parts, in the order to read them                                           *|
|*   status.h   errors                                                        *|
|*   tensor.h   tensors of a call                                             *|
|*   module.h   open and inspect models                                       *|
|*   context.h  run models                                                    *|
|*   state.h    read and write the tensors that calls keep                    *|
|*   feed.h     copy the next inputs during a call                            *|
|*   profile.h  time and trace the steps of a call                            *|
|*   group.h    train on several devices                                      *|
|*   dlpack.h   exchange tensors with other libraries                         *|
|*                                                                            *|
|* Conventions                                                                *|
|* - Every call that can fail returns a frit_status; FRIT_OK is 0. After a    *|
|*   failure frit_last_error() says what was wrong. Results behind pointers   *|
|*   are written only on success.                                             *|
|* - Sizes are in bytes, dimensions in elements, times in microseconds.       *|
|* - Tensors are dense and row major.                                         *|
|* - Any number of threads may use a module at once, but only one at a time a *|
|*   context and its peers. What a process has once is guarded by locks:      *|
|*   NVIDIA's driver with its contexts, CUDA graphs being captured, unused    *|
|*   handles of cuDNN, and the files that are open as artifacts. The text of  *|
|*   frit_last_error() is each thread's own.                                  *|
|* - Nothing here throws, exits or writes to the standard streams.            *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_RUNTIME_H
#define FRIT_RUNTIME_H

#include "frit/context.h"
#include "frit/dlpack.h"
#include "frit/feed.h"
#include "frit/group.h"
#include "frit/module.h"
#include "frit/profile.h"
#include "frit/state.h"
#include "frit/status.h"
#include "frit/tensor.h"

#endif /* FRIT_RUNTIME_H */
