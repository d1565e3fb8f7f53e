/*===- tensor.h - Tensors of a call ---------------------------------------===*\
|* A part of frit/runtime.h, which shows how the parts are used together.     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_TENSOR_H
#define FRIT_TENSOR_H

#include "frit/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum frit_dtype {
  FRIT_F32 = 1,
  FRIT_F64 = 2,
  FRIT_F16 = 3,
  FRIT_BF16 = 4,
  FRIT_I8 = 5,
  FRIT_I16 = 6,
  FRIT_I32 = 7,
  FRIT_I64 = 8,
  FRIT_U8 = 9,
  FRIT_U16 = 10,
  FRIT_U32 = 11,
  FRIT_U64 = 12,
  FRIT_BOOL = 13, /**< one byte, 0 or 1 */
  FRIT_F8E4M3 = 14,
  FRIT_F8E5M2 = 15,
  FRIT_F8E4M3FNUZ = 16,
  FRIT_F8E5M2FNUZ = 17,
  FRIT_F8E8M0 = 18,
  FRIT_F4E2M1 = 19, /**< this and all below: one byte each */
  FRIT_I4 = 20,
  FRIT_U4 = 21,
  FRIT_I2 = 22,
  FRIT_U2 = 23,
  FRIT_STRING = 24 /**< a frit_string; tensors lie in host memory */
} frit_dtype;

/** An element of a tensor of strings: `size` bytes of UTF-8, without a zero
 *  byte among or after them; at most 1 MiB. Those of outputs belong to the
 *  context and live until its next call. */
typedef struct frit_string {
  const char *data; /**< may be null if `size` is 0 */
  size_t size;
} frit_string;

/** Returns the bytes of an element; 0 if `dtype` is not a frit_dtype. */
FRIT_API size_t frit_dtype_size(frit_dtype dtype);

/** Returns "f32", "i64", "bool" …; "?" if `dtype` is not a frit_dtype. Static.
 */
FRIT_API const char *frit_dtype_name(frit_dtype dtype);

typedef enum frit_location {
  FRIT_HOST = 0,  /**< memory of this process */
  FRIT_DEVICE = 1 /**< memory of the module's GPU; on the cpu target, of this
                       process too */
} frit_location;

/** A tensor that the caller owns. `data` must hold all its elements. The struct
 *  and what it points to need to live only until the call returns. */
typedef struct frit_tensor {
  const char *name; /**< as in the model; null means "by position" */
  void *data;
  frit_dtype dtype;
  uint32_t rank;
  const int64_t *dims; /**< `rank` of them; may be null when rank is 0 */
  frit_location location;
} frit_tensor;

/** Description of an input or output. Its pointers live as long as the module.
 *  Symbolic dimensions have their largest size in `dims` and `bytes`; see
 *  frit_module_symbol. */
typedef struct frit_tensor_info {
  const char *name;
  frit_dtype dtype;
  uint32_t rank;
  const int64_t *dims;
  uint64_t bytes;
} frit_tensor_info;

#ifdef __cplusplus
}
#endif

#endif /* FRIT_TENSOR_H */
