//===- Native.cpp - The module frit._native -------------------------------===//
//
// Makes calls of torch.compile without code in Python. The code in Python makes
// a graph's first call, and every one that this module cannot make:
//
//   frit.torch._Graph ── sizes ──▶ Compiled ──▶ Repeated  the recorded call
//                                      └──────▶ seen      the parameters
//
// This module decides nothing. It compares tensors with those of the recorded
// call and of `seen`, and makes the call if they are alike.
//
//===----------------------------------------------------------------------===//

#include "tools/python/native/Exchange.h"
#include "tools/python/native/Names.h"
#include "tools/python/native/Repeated.h"

namespace frit::python {
namespace {

enum class Outcome { kDone, kNotLikeIt, kChanged };

/// Returns the sizes among a graph's arguments, the key of its dicts.
Ref keyOf(PyObject *graph, PyObject *arguments) {
  Ref places(PyObject_GetAttr(graph, names().sizes));
  Py_ssize_t count = places ? PyList_Size(places.get()) : -1;
  Ref key(count < 0 ? nullptr : PyTuple_New(count));
  for (Py_ssize_t i = 0; key && i < count; ++i) {
    PyObject *size = PyTuple_GetItem(
        arguments, PyLong_AsSsize_t(PyList_GetItem(places.get(), i)));
    if (!size || PyTuple_SetItem(key.get(), i, Ref::of(size).release()) != 0)
      return Ref();
  }
  return key;
}

/// Returns an element of a dict that is an object's attribute.
Ref find(PyObject *object, PyObject *attribute, PyObject *key) {
  Ref dict(PyObject_GetAttr(object, attribute));
  return Ref::of(dict ? PyDict_GetItemWithError(dict.get(), key) : nullptr);
}

/// Returns whether a tensor has the version and the address that were seen. The
/// version is None if PyTorch does not count it.
bool isSame(PyObject *tensor, PyObject *version, PyObject *address) {
  dlpack::Tensor now;
  if (!version || !address || !view(tensor, now) ||
      dataOf(now) != PyLong_AsVoidPtr(address))
    return false;
  if (version == Py_None)
    return true;
  Ref counted(PyObject_GetAttr(tensor, names().version));
  return counted &&
         PyObject_RichCompareBool(counted.get(), version, Py_EQ) == 1;
}

/// Returns whether `arguments` has the parameters that were seen, a value of
/// _compiled._Seen, unchanged. `places` numbers them; those past the end are
/// tensors that the graph itself holds.
bool areSame(PyObject *seen, PyObject *arguments, PyObject *places) {
  PyObject *tensors, *versions, *addresses;
  if (!PyArg_ParseTuple(seen, "O!(O!O!)", &PyTuple_Type, &tensors, &PyList_Type,
                        &versions, &PyList_Type, &addresses))
    return false;
  Py_ssize_t count = PyList_Size(places);
  if (PyTuple_Size(tensors) != count)
    return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *tensor = PyTuple_GetItem(tensors, i);
    Py_ssize_t place = PyLong_AsSsize_t(PyList_GetItem(places, i));
    if ((place < PyTuple_Size(arguments) &&
         PyTuple_GetItem(arguments, place) != tensor) ||
        !isSame(tensor, PyList_GetItem(versions, i),
                PyList_GetItem(addresses, i)))
      return false;
  }
  return true;
}

/// Clears a Python error that code in Python raises again if it is one there.
/// False if it is the program's instead, such as KeyboardInterrupt.
bool clearError() {
  if (!PyErr_Occurred())
    return true;
  if (!PyErr_ExceptionMatches(PyExc_Exception))
    return false;
  PyErr_Clear();
  return true;
}

/// Makes a call of a graph like the last one of these sizes.
Outcome repeat(PyObject *graph, PyObject *arguments, Ref &results) {
  Ref key = keyOf(graph, arguments);
  Ref compiled = key ? find(graph, names().compiled, key.get()) : Ref();
  if (!compiled || compiled.get() == Py_None) // PyTorch runs it.
    return Outcome::kNotLikeIt;
  Ref repeated = find(compiled.get(), names().calls, key.get());
  if (!repeated)
    return Outcome::kNotLikeIt;
  Ref seen(PyObject_GetAttr(compiled.get(), names().seen));
  Ref caller(PyObject_GetAttr(compiled.get(), names().caller));
  Ref inputs(PyObject_GetAttr(compiled.get(), names().inputs));
  Ref watched(PyObject_GetAttr(compiled.get(), names().watched));
  if (!seen || !caller || !inputs || !watched)
    return Outcome::kNotLikeIt;
  results = callAgain(repeated.get(), caller.get(), arguments, inputs.get());
  if (!results)
    return Outcome::kNotLikeIt;
  // The GPU works meanwhile. The call used the parameters that were seen before
  // it if they are the same after it.
  Ref now(PyObject_GetAttr(compiled.get(), names().seen));
  return now.get() == seen.get() &&
                 areSame(seen.get(), arguments, watched.get())
             ? Outcome::kDone
             : Outcome::kChanged;
}

PyObject *callGraph(PyObject *graph, PyObject *arguments, PyObject *named) {
  Ref results;
  bool isChanged = false;
  // PyTorch's wrappers pass on an empty dict.
  if (!named || PyDict_Size(named) == 0)
    switch (repeat(graph, arguments, results)) {
    case Outcome::kDone:
      return results.release();
    case Outcome::kChanged:
      isChanged = true;
      break;
    case Outcome::kNotLikeIt:
      break;
    }
  if (!clearError())
    return nullptr;
  Ref other =
      isChanged ? Ref(PyObject_GetAttr(graph, names().change)) : Ref::of(graph);
  return other ? PyObject_Call(other.get(), arguments, named) : nullptr;
}

PyMethodDef graphFunction = {
    "graph", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(callGraph)),
    METH_VARARGS | METH_KEYWORDS, "Calls a compiled graph."};

PyObject *callable(PyObject *, PyObject *graph) {
  return PyCFunction_NewEx(&graphFunction, graph, nullptr);
}

PyObject *use(PyObject *, PyObject *args) {
  PyObject *tensor, *parameter;
  if (!PyArg_ParseTuple(args, "OO", &tensor, &parameter) ||
      !useExchange(tensor, parameter))
    return nullptr;
  return Ref::of(Py_None).release();
}

PyObject *same(PyObject *, PyObject *args) {
  PyObject *seen, *arguments, *places;
  if (!PyArg_ParseTuple(args, "O!O!O!", &PyTuple_Type, &seen, &PyTuple_Type,
                        &arguments, &PyList_Type, &places))
    return nullptr;
  bool areAlike = areSame(seen, arguments, places);
  return clearError() ? PyBool_FromLong(areAlike) : nullptr;
}

PyMethodDef functions[] = {
    {"same", same, METH_VARARGS,
     "Returns whether arguments have the parameters that were seen, unchanged; "
     "false if it cannot tell."},
    {"use", use, METH_VARARGS,
     "Takes DLPack's functions from the types torch.Tensor and Parameter."},
    {"callable", callable, METH_O,
     "Returns a function that calls a _Graph, by compiled code if it can."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "frit._native",
    "Makes calls of torch.compile without code in Python.",
    -1,
    functions,
    nullptr,
    nullptr,
    nullptr,
    nullptr};

} // namespace
} // namespace frit::python

PyMODINIT_FUNC PyInit__native() {
  using namespace frit::python;
  Ref module(PyModule_Create(&definition));
  Ref type(makeRepeatedType());
  if (!module || !type ||
      PyModule_AddObject(module.get(), "Repeated", type.get()) != 0)
    return nullptr;
  type.release(); // AddObject took it.
  return module.release();
}
