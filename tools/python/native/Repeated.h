//===- Repeated.h - A call of a module that is made again -----------------===//

#ifndef FRIT_TOOLS_PYTHON_NATIVE_REPEATED_H
#define FRIT_TOOLS_PYTHON_NATIVE_REPEATED_H

#include "tools/python/native/Ref.h"

namespace frit::python {

/// Makes the type frit._native.Repeated; null after a Python error.
PyObject *makeRepeatedType();

/// Makes the call that the Repeated `repeated` describes, of the module of
/// `caller`, with the elements of the tuple `arguments` that the list `places`
/// numbers. Returns a list of the results; null, perhaps with a Python error,
/// if these tensors are of another kind, if every context is in use, or if the
/// runtime has something to report.
Ref callAgain(PyObject *repeated, PyObject *caller, PyObject *arguments,
              PyObject *places);

} // namespace frit::python

#endif // FRIT_TOOLS_PYTHON_NATIVE_REPEATED_H
