//===- Ref.h - Owned reference to a Python object -------------------------===//

#ifndef FRIT_TOOLS_PYTHON_NATIVE_REF_H
#define FRIT_TOOLS_PYTHON_NATIVE_REF_H

// The stable interface of Python 3.9: one build serves all later versions.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <utility>

namespace frit::python {

/// Owned reference; null after a Python error. Counts by functions: the macros
/// of 3.9 would also count for None, which is immortal from 3.12 on.
class Ref {
public:
  Ref() = default;
  /// Takes over a new reference.
  explicit Ref(PyObject *object) : object(object) {}
  Ref(Ref &&other) : object(other.release()) {}
  Ref &operator=(Ref &&other) {
    std::swap(object, other.object);
    return *this;
  }
  ~Ref() { Py_DecRef(object); }

  /// Adds a reference to a borrowed object.
  static Ref of(PyObject *borrowed) {
    Py_IncRef(borrowed);
    return Ref(borrowed);
  }

  PyObject *get() const { return object; }
  PyObject *release() { return std::exchange(object, nullptr); }
  explicit operator bool() const { return object != nullptr; }

private:
  PyObject *object = nullptr;
};

} // namespace frit::python

#endif // FRIT_TOOLS_PYTHON_NATIVE_REF_H
