//===- Repeated.cpp - A call of a module that is made again ---------------===//
//
// Repeated(run, inputs, outputs, tensors, allocate, made, gpu, kept)
//
//   run              address of frit_run or frit_run_async
//   inputs, outputs  address and length of the call's arrays of frit_tensor
//   tensors          the inputs that the call was made with, in a tuple
//   allocate, made   what makes a result, and its arguments for each
//   gpu              the number of the module's GPU, or -1
//   kept             what the arrays' pointers need to stay valid
//
// A call that differs in anything from this one is left to the code in Python.
//
//===----------------------------------------------------------------------===//

#include "tools/python/native/Repeated.h"

#include "frit/runtime.h"
#include "tools/python/native/Exchange.h"
#include "tools/python/native/Names.h"

#include <memory>
#include <vector>

namespace frit::python {
namespace {

/// Type, device, shape and strides of an input.
struct Layout {
  dlpack::DataType type;
  dlpack::Device device;
  std::vector<int64_t> shape, strides;

  explicit Layout(const dlpack::Tensor &tensor)
      : type(tensor.type), device(tensor.device),
        shape(tensor.shape, tensor.shape + tensor.rank),
        strides(tensor.strides, tensor.strides + tensor.rank) {}

  bool operator==(const dlpack::Tensor &tensor) const;
};

struct Call {
  decltype(&frit_run) run;
  std::vector<frit_tensor> inputs, outputs;
  std::vector<Layout> layouts;
  /// A tuple of tuples.
  Ref made;
  int32_t gpu;
  Ref allocate, kept;

  bool point(std::vector<frit_tensor> &tensors, PyObject *arguments,
             PyObject *places) const;
  Ref makeResults(std::vector<frit_tensor> &tensors) const;
  bool makeCall(PyObject *caller, const std::vector<frit_tensor> &given,
                const std::vector<frit_tensor> &results) const;
};

struct Repeated {
  PyObject_HEAD Call *call;
};

PyTypeObject *repeatedType;

bool Layout::operator==(const dlpack::Tensor &tensor) const {
  if (tensor.type.code != type.code || tensor.type.bits != type.bits ||
      tensor.type.lanes != type.lanes || tensor.device.type != device.type ||
      tensor.device.id != device.id || size_t(tensor.rank) != shape.size())
    return false;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    // The stride of a single element does not matter.
    if (tensor.shape[dim] != shape[dim] ||
        (tensor.strides[dim] != strides[dim] && shape[dim] != 1))
      return false;
  return true;
}

/// A context that no other call uses as long as this object lives; null if
/// there is none.
class TakenContext {
public:
  explicit TakenContext(PyObject *caller) : caller(caller) {
    Ref free(PyObject_GetAttr(caller, names().free));
    // While the caller lets no call begin, its list is of a derived type.
    Py_ssize_t count =
        free && PyList_CheckExact(free.get()) ? PyList_Size(free.get()) : 0;
    if (count == 0)
      return;
    context = Ref::of(PyList_GetItem(free.get(), count - 1));
    PyList_SetSlice(free.get(), count - 1, count, nullptr);
  }
  ~TakenContext() {
    if (!context)
      return;
    PyObject *type, *value, *trace; // An error is the call's, not this one's.
    PyErr_Fetch(&type, &value, &trace);
    // Another list by now, perhaps.
    if (Ref free{PyObject_GetAttr(caller, names().free)})
      PyList_Append(free.get(), context.get());
    PyErr_Restore(type, value, trace);
  }

  PyObject *get() const { return context.get(); }

private:
  PyObject *caller;
  Ref context;
};

/// Lets the context use PyTorch's current stream; false after a Python error.
bool chooseStream(PyObject *context, int32_t gpu) {
  void *stream;
  // The list of one number that Context.use sets.
  Ref last(PyObject_GetAttr(context, names().stream));
  if (!last || !currentStream(gpu, stream))
    return false;
  // PyTorch calls the legacy default stream 0, CUDA's driver 1.
  if (!stream)
    stream = reinterpret_cast<void *>(1);
  PyObject *number = PyList_GetItem(last.get(), 0);
  if (!number || PyLong_AsVoidPtr(number) == stream)
    return number != nullptr;
  Ref wanted(PyLong_FromVoidPtr(stream));
  return wanted && Ref(PyObject_CallMethodObjArgs(context, names().use,
                                                  wanted.get(), nullptr));
}

/// Sets the pointers to the inputs; false if one is of another kind.
bool Call::point(std::vector<frit_tensor> &tensors, PyObject *arguments,
                 PyObject *places) const {
  if (size_t(PyList_Size(places)) != tensors.size())
    return false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject *argument =
        PyTuple_GetItem(arguments, PyLong_AsSsize_t(PyList_GetItem(places, i)));
    dlpack::Tensor tensor;
    if (!argument || !view(argument, tensor) || !(layouts[i] == tensor))
      return false;
    tensors[i].data = dataOf(tensor);
    // DLPack describes a lazy view of negated elements as if it were none.
    Ref isNeg(PyObject_CallMethodObjArgs(argument, names().isNeg, nullptr));
    if (isNeg.get() != Py_False)
      return false;
  }
  return true;
}

/// Makes the results; null after a Python error. PyTorch's own function makes
/// them, because those of DLPack's allocator lack record_stream.
Ref Call::makeResults(std::vector<frit_tensor> &tensors) const {
  Ref results(PyList_New(tensors.size()));
  for (size_t i = 0; results && i < tensors.size(); ++i) {
    PyObject *result =
        PyObject_CallObject(allocate.get(), PyTuple_GetItem(made.get(), i));
    dlpack::Tensor tensor;
    if (!result || PyList_SetItem(results.get(), i, result) != 0 ||
        !view(result, tensor))
      return Ref();
    tensors[i].data = dataOf(tensor);
  }
  return results;
}

/// Runs the module; false, perhaps with a Python error, if it reports an error.
bool Call::makeCall(PyObject *caller, const std::vector<frit_tensor> &given,
                    const std::vector<frit_tensor> &results) const {
  TakenContext context(caller);
  if (!context.get() || (gpu >= 0 && !chooseStream(context.get(), gpu)))
    return false;
  Ref handle(PyObject_GetAttr(context.get(), names().handle));
  auto *made = handle
                   ? static_cast<frit_context *>(PyLong_AsVoidPtr(handle.get()))
                   : nullptr;
  if (!made)
    return false;
  frit_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = run(made, given.data(), uint32_t(given.size()), results.data(),
               uint32_t(results.size()));
  Py_END_ALLOW_THREADS;
  return status == FRIT_OK;
}

PyObject *newRepeated(PyTypeObject *type, PyObject *args, PyObject *) {
  auto call = std::make_unique<Call>();
  unsigned long long run, inputs, outputs;
  Py_ssize_t inputCount, outputCount;
  PyObject *tensors, *allocate, *made, *kept;
  if (!PyArg_ParseTuple(args, "K(Kn)(Kn)O!OO!iO", &run, &inputs, &inputCount,
                        &outputs, &outputCount, &PyTuple_Type, &tensors,
                        &allocate, &PyTuple_Type, &made, &call->gpu, &kept))
    return nullptr;
  if (PyTuple_Size(tensors) != inputCount || PyTuple_Size(made) != outputCount)
    return PyErr_Format(PyExc_ValueError, "a tensor is missing");
  for (Py_ssize_t i = 0; i < inputCount; ++i) {
    dlpack::Tensor tensor;
    if (!view(PyTuple_GetItem(tensors, i), tensor)) {
      PyErr_SetString(PyExc_BufferError, "DLPack cannot describe a tensor");
      return nullptr;
    }
    call->layouts.emplace_back(tensor);
  }
  auto arrayAt = [](unsigned long long address, Py_ssize_t count) {
    auto *array = reinterpret_cast<const frit_tensor *>(address);
    return std::vector<frit_tensor>(array, array + count);
  };
  call->run = reinterpret_cast<decltype(call->run)>(run);
  call->inputs = arrayAt(inputs, inputCount);
  call->outputs = arrayAt(outputs, outputCount);
  call->allocate = Ref::of(allocate);
  call->made = Ref::of(made);
  call->kept = Ref::of(kept);
  PyObject *self = PyType_GenericAlloc(type, 0);
  if (self)
    reinterpret_cast<Repeated *>(self)->call = call.release();
  return self;
}

void freeRepeated(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  delete reinterpret_cast<Repeated *>(self)->call;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DecRef(reinterpret_cast<PyObject *>(type));
}

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(newRepeated)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(freeRepeated)},
                       {0, nullptr}};
PyType_Spec spec = {"frit._native.Repeated", sizeof(Repeated), 0,
                    Py_TPFLAGS_DEFAULT, slots};

} // namespace

PyObject *makeRepeatedType() {
  PyObject *type = PyType_FromSpec(&spec);
  repeatedType = reinterpret_cast<PyTypeObject *>(type);
  return type;
}

Ref callAgain(PyObject *repeated, PyObject *caller, PyObject *arguments,
              PyObject *places) {
  if (Py_TYPE(repeated) != repeatedType || !PyList_Check(places))
    return Ref();
  const Call &call = *reinterpret_cast<Repeated *>(repeated)->call;
  // Other threads may make the same call meanwhile.
  std::vector<frit_tensor> given = call.inputs, made = call.outputs;
  if (!call.point(given, arguments, places))
    return Ref();
  Ref results = call.makeResults(made);
  if (!results || !call.makeCall(caller, given, made))
    return Ref();
  // Remarks are shown after a call that code in Python makes.
  Ref remarks(PyObject_GetAttr(caller, names().remarks));
  Ref pending(remarks ? PyObject_GetAttr(remarks.get(), names().pending)
                      : nullptr);
  return pending && PyList_Size(pending.get()) == 0 ? std::move(results)
                                                    : Ref();
}

} // namespace frit::python
