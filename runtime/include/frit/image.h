/*===- image.h - The symbol that a compiled model defines -----------------===*\
|*                                                                            *|
|* Every object or library that fritc writes defines one global symbol, the   *|
|* `frit_image` <model>_image. A shared library also has it under the name    *|
|* `frit_model_image`. Plain C: a model's generated header needs only this.   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_IMAGE_H
#define FRIT_IMAGE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRIT_IMAGE_ABI 2u

/** The `abi` of the image that a model's C header defines. Its `plan` points to
 *  the image of the linked object, and `plan_bytes` is the hash of the inputs
 *  and outputs that the header lists; frit_module_open compares the hash with
 *  the object's. */
#define FRIT_IMAGE_REFERENCE 0x66657266u

/** A host kernel of the CPU target: computes the independent work items [begin,
 *  end) of a step over the step's arguments. Any thread may call it. Calls over
 *  disjoint ranges may run concurrently, each with its own workspace: aligned
 *  to 256 bytes, of the size that the plan states. */
typedef void (*frit_host_kernel)(void *const *arguments, void *workspace,
                                 int64_t begin, int64_t end);

/** A compiled model. Lives as long as the object it is linked into; all its
 *  pointers are to constant memory. */
typedef struct frit_image {
  uint32_t abi; /**< FRIT_IMAGE_ABI of the compiler that wrote it */
  uint32_t kernel_count;
  const frit_host_kernel *kernels; /**< kernel_count of them; may be null */
  const void *plan;                /**< see frit/artifact.h */
  uint64_t plan_bytes;
  const void *weights; /**< null if the weights are in a file */
  uint64_t weight_bytes;
} frit_image;

#ifdef __cplusplus
}
#endif

#endif /* FRIT_IMAGE_H */
