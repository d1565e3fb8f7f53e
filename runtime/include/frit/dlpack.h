/*===- dlpack.h - Exchange tensors with other libraries -------------------===*\
|* A part of frit/runtime.h, which shows how the parts are used together.     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_DLPACK_H
#define FRIT_DLPACK_H

#include "frit/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Describes a tensor of another library for a call. `dl_tensor` is a DLTensor
 *  (dlpack.h). It must lie in host memory or on the module's GPU, be dense and
 *  row major, and have an element type of frit_dtype. The result has no name,
 *  and points to the DLTensor's shape and memory. */
FRIT_API frit_status frit_tensor_from_dlpack(const frit_module *module,
                                             const void *dl_tensor,
                                             frit_tensor *tensor);

/** Allocates an uninitialized tensor on the module's device for other libraries
 *  to use. `managed` receives a DLManagedTensor (dlpack.h), which may outlive
 *  the module; its owner must call the deleter. */
FRIT_API frit_status frit_dlpack_allocate(const frit_module *module,
                                          frit_dtype dtype, uint32_t rank,
                                          const int64_t *dims, void **managed);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_DLPACK_H */
