//===- Exchange.cpp - Tensors of PyTorch, by DLPack's C functions ---------===//

#include "tools/python/native/Exchange.h"

namespace frit::python {
namespace {

/// DLPackExchangeAPIHeader and DLPackExchangeAPI of dlpack.h 1.3, whose layout
/// is fixed for a major version (https://github.com/dmlc/dlpack). A function of
/// it returns 0, or -1 with a Python error. "No sync": it waits for no stream.
struct Header {
  uint32_t major, minor;
  const Header *previous; ///< a table of an older version, or null
};

struct Table {
  Header header;
  void *allocate, *fromObject, *toObject;            // not used
  int (*view)(void *object, dlpack::Tensor *tensor); ///< may be null
  int (*currentStream)(int32_t deviceType, int32_t device, void **stream);
};

constexpr uint32_t kMajor = 1;

const Table *table;
PyTypeObject *tensor, *parameter;

} // namespace

bool useExchange(PyObject *tensorType, PyObject *parameterType) {
  if (!PyType_Check(tensorType) || !PyType_Check(parameterType)) {
    PyErr_SetString(PyExc_TypeError, "the types of tensors are needed");
    return false;
  }
  Ref capsule(PyObject_GetAttrString(tensorType, "__dlpack_c_exchange_api__"));
  if (!capsule)
    return false;
  auto *found = static_cast<const Header *>(
      PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  if (!found)
    return false;
  while (found && found->major != kMajor)
    found = found->previous;
  auto *known = reinterpret_cast<const Table *>(found);
  if (!known || !known->view) {
    PyErr_SetString(PyExc_BufferError,
                    "these tensors have another version of DLPack's functions");
    return false;
  }
  // The table and PyTorch's types live as long as the process.
  table = known;
  Py_IncRef(tensorType);
  Py_IncRef(parameterType);
  tensor = reinterpret_cast<PyTypeObject *>(tensorType);
  parameter = reinterpret_cast<PyTypeObject *>(parameterType);
  return true;
}

bool view(PyObject *object, dlpack::Tensor &described) {
  PyTypeObject *type = Py_TYPE(object);
  return table && (type == tensor || type == parameter) &&
         table->view(object, &described) == 0;
}

bool currentStream(int32_t gpu, void *&stream) {
  return table->currentStream(dlpack::kCuda, gpu, &stream) == 0;
}

} // namespace frit::python
