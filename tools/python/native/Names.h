//===- Names.h - Names of attributes --------------------------------------===//

#ifndef FRIT_TOOLS_PYTHON_NATIVE_NAMES_H
#define FRIT_TOOLS_PYTHON_NATIVE_NAMES_H

#include "tools/python/native/Ref.h"

namespace frit::python {

/// The attributes that this module uses, as interned strings, which Python
/// finds without comparing text. They live as long as the process.
struct Names {
  // frit.torch._Graph
  PyObject *change = PyUnicode_InternFromString("change");
  PyObject *compiled = PyUnicode_InternFromString("compiled");
  PyObject *sizes = PyUnicode_InternFromString("sizes");
  // Compiled
  PyObject *caller = PyUnicode_InternFromString("caller");
  PyObject *calls = PyUnicode_InternFromString("calls");
  PyObject *inputs = PyUnicode_InternFromString("inputs");
  PyObject *seen = PyUnicode_InternFromString("seen");
  PyObject *watched = PyUnicode_InternFromString("watched");
  // Caller, and Remarks
  PyObject *free = PyUnicode_InternFromString("free");
  PyObject *remarks = PyUnicode_InternFromString("remarks");
  PyObject *pending = PyUnicode_InternFromString("pending");
  // Context
  PyObject *handle = PyUnicode_InternFromString("handle");
  PyObject *stream = PyUnicode_InternFromString("stream");
  PyObject *use = PyUnicode_InternFromString("use");
  // torch.Tensor
  PyObject *isNeg = PyUnicode_InternFromString("is_neg");
  PyObject *version = PyUnicode_InternFromString("_version");
};

/// Returns the names, which the first call makes.
inline const Names &names() {
  static const Names made;
  return made;
}

} // namespace frit::python

#endif // FRIT_TOOLS_PYTHON_NATIVE_NAMES_H
