//===- Exchange.h - Tensors of PyTorch, by DLPack's C functions -----------===//

#ifndef FRIT_TOOLS_PYTHON_NATIVE_EXCHANGE_H
#define FRIT_TOOLS_PYTHON_NATIVE_EXCHANGE_H

#include "runtime/exec/Dlpack.h"
#include "tools/python/native/Ref.h"

namespace frit::python {

/// Takes DLPack's functions from PyTorch's type of tensors, and remembers it
/// and the type of parameters. False with a Python error if it has none that
/// this module knows.
bool useExchange(PyObject *tensorType, PyObject *parameterType);

/// Describes the tensor that `object` is; the description lives until other
/// code runs. False, perhaps with a Python error, if DLPack cannot describe it
/// or its type is another one, even a derived one, whose memory may mean
/// anything.
bool view(PyObject *object, dlpack::Tensor &tensor);

/// Returns where a tensor's elements begin.
inline void *dataOf(const dlpack::Tensor &tensor) {
  return static_cast<char *>(tensor.data) + tensor.byteOffset;
}

/// Returns PyTorch's current stream of a GPU; false with a Python error.
bool currentStream(int32_t gpu, void *&stream);

} // namespace frit::python

#endif // FRIT_TOOLS_PYTHON_NATIVE_EXCHANGE_H
