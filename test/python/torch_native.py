"""The package's compiled module, with objects and functions that stand for those of
the package, of the runtime and of PyTorch's DLPack.

    torch_native.py cpu
"""
import ctypes
import gc
import sys
import weakref

import torch
from torch import nn

import frit
from frit import _abi, _native
from torch_support import fails, run_tests

NAME = b"dlpack_exchange_api"


class Table(ctypes.Structure):
    """DLPackExchangeAPI."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("previous", ctypes.c_void_p), ("others", ctypes.c_void_p * 3),
                ("view", ctypes.c_void_p), ("stream", ctypes.c_void_p)]


ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
ctypes.pythonapi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p,
                                           ctypes.c_void_p]
ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object,
                                                  ctypes.c_char_p]
CAPSULE = torch.Tensor.__dlpack_c_exchange_api__
KNOWN = Table.from_address(ctypes.pythonapi.PyCapsule_GetPointer(CAPSULE, NAME))


def use(table=None, name=NAME):
    """Lets the compiled module use a table of functions; PyTorch's by default."""
    if table is not None:
        torch.Tensor.__dlpack_c_exchange_api__ = ctypes.pythonapi.PyCapsule_New(
            ctypes.addressof(table), name, None)
    try:
        _native.use(torch.Tensor, nn.Parameter)
    finally:
        torch.Tensor.__dlpack_c_exchange_api__ = CAPSULE


class Graph:
    """Stands for a _Graph, its Compiled, Caller and Context, and the runtime."""

    handle = 5  # of the context

    def __init__(self, x, parameters=(), gpu=-1):
        self.sizes, self.inputs, self.stream = [], [0], [0]
        self.watched = [i + 1 for i in range(len(parameters))]
        self.see(parameters)
        self.caller = self.remarks = self
        self.compiled, self.calls = {(): self}, {}
        self.free, self.pending = [self], []
        self.status, self.runs, self.used = 0, [], []
        #: What happens while the runtime runs.
        self.meanwhile = lambda: None
        self.tensors = (_abi.Tensor * 1)()
        self.run = ctypes.CFUNCTYPE(ctypes.c_int, *_abi._CALL)(self.runtime)
        array = ctypes.addressof(self.tensors), 1
        self.calls[()] = _native.Repeated(
            ctypes.cast(self.run, ctypes.c_void_p).value, array, array, (x,),
            torch.empty, ((2, 3),), gpu, self.tensors)
        self.function = _native.callable(self)

    def see(self, tensors):
        self.seen = tuple(tensors), ([t._version for t in tensors],
                                     [t.data_ptr() for t in tensors])

    def runtime(self, context, inputs, *_):
        assert context == self.handle and self.free == []
        self.runs.append(_abi.Tensor.from_address(inputs).data)
        self.meanwhile()
        return self.status

    def use(self, stream):
        if stream == 9:
            raise KeyboardInterrupt
        self.used.append(stream)
        self.stream[0] = stream

    def change(self, *given):
        return "changed"

    def __call__(self, *given, **named):
        return "python"


def test_tables():
    """Tables of other versions, and none."""
    use(Table(2, 0, ctypes.addressof(KNOWN)))  # the older one is used
    x = torch.ones(2, 3)
    assert Graph(x).function(x) != "python"
    for table in Table(2, 0), Table(0, 9), Table(1, 3):
        fails(BufferError, lambda: use(table), "another version of DLPack")
    fails(ValueError, lambda: use(KNOWN, b"another name"))
    fails(AttributeError, lambda: _native.use(int, nn.Parameter))
    fails(TypeError, lambda: _native.use(None, None), "types of tensors")
    use()
    assert frit._arrays._native(torch) is _native
    kept, sys.abiflags = sys.abiflags, "t"  # as a free-threaded Python
    assert frit._arrays._native(torch) is None
    sys.abiflags = kept


def test_calls():
    x, y = torch.ones(2, 3), torch.ones(2, 3)
    graph = Graph(x)
    made, = graph.function(y)
    assert made.shape == (2, 3) and graph.runs == [y.data_ptr()]
    assert graph.function(y, **{})[0].data_ptr() != made.data_ptr()
    # What is left to Python: other tensors, remarks, errors, no free context.
    for other in (torch.ones(3, 2), torch.ones(3, 2).t(), torch.ones(2, 3).half(),
                  torch.ones(2, 3).to_sparse(), torch.empty(2, 3, device="meta"),
                  torch.ones(6), None):
        assert graph.function(other) == "python", other
    assert graph.function(x, other=x) == graph.function() == "python"
    assert len(graph.runs) == 2
    graph.pending.append("a remark")
    assert graph.function(x) == "python"
    graph.pending, graph.status = [], 1
    assert graph.function(x) == "python" and graph.free == [graph]
    graph.status, graph.free = 0, []
    assert graph.function(x) == "python"
    graph.free = type("Returned", (list,), {})([graph])
    assert graph.function(x) == "python" and len(graph.free) == 1
    # What is no call.
    for compiled in {}, {(): None}, {(): 3}, None:
        graph.compiled = compiled
        assert graph.function(x) == "python"
    fails(BufferError, lambda: Graph(torch.ones(2, 3).to_sparse()),
          "DLPack cannot describe a tensor")
    fails(TypeError, lambda: _native.Repeated())


def test_parameters():
    x, weight, bias = torch.ones(2, 3), nn.Parameter(torch.ones(4)), torch.ones(4)
    with torch.inference_mode():
        uncounted = torch.ones(4)
    given = x, weight, bias
    graph = Graph(x, given[1:])
    assert len(graph.function(*given)) == 1
    assert len(graph.function(x, weight)) == 1  # the graph holds the other
    assert graph.function(x, weight, bias.clone()) == "changed"
    # Another thread that replaces parameters changes `seen`.
    for change in (lambda: bias.mul_(2), lambda: graph.see(given[1:]),
                   lambda: setattr(bias, "data", torch.ones(4)),
                   lambda: setattr(graph, "seen", ((), ([], [])))):
        graph.meanwhile = change
        assert graph.function(*given) == "changed"
        graph.meanwhile = lambda: None
        graph.see(given[1:])
        assert len(graph.function(*given)) == 1
    graph.seen = (weight, uncounted), ([weight._version, None],
                                       [weight.data_ptr(), uncounted.data_ptr()])
    assert len(graph.function(x, weight, uncounted)) == 1
    torch._C._swap_tensor_impl(weight, uncounted.clone())
    assert graph.function(x, weight, uncounted) == "changed"


def test_streams():
    """Calls of a GPU's module run on PyTorch's current stream, 1 for the legacy
    default one, which the context is told when it changes."""
    streams, x = [], torch.ones(2, 3)

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
    def current(kind, gpu, stream):
        assert (kind, gpu) == (2, 3)
        ctypes.c_void_p.from_address(stream).value = streams.pop(0)
        return 0
    graph = Graph(x, gpu=3)
    table = Table(1, 3, None, KNOWN.others, KNOWN.view,
                  ctypes.cast(current, ctypes.c_void_p).value)
    use(table)
    for stream, used in ((None, [1]), (None, [1]), (7, [1, 7]), (7, [1, 7]),
                         (1, [1, 7, 1])):
        streams.append(stream)
        assert len(graph.function(x)) == 1 and graph.used == used
    # No error that Python would raise again; the context is given back.
    streams.append(9)
    fails(KeyboardInterrupt, lambda: graph.function(x))
    assert graph.free == [graph] and len(graph.runs) == 5
    use()


def test_references():
    """Calls keep nothing, and a graph is freed."""
    x, weight, other = torch.ones(2, 3), torch.ones(4), torch.ones(6)
    graph = Graph(x, [weight])
    held = (x, weight, other, graph, graph.seen, graph.free, graph.calls[()],
            graph.tensors, (), None, False)

    def counts():
        graph.runs.clear()
        gc.collect()
        return [*map(sys.getrefcount, held), len(gc.get_objects())]
    for given in (x, weight), (x, other), (other, weight), (None, weight), ():
        before = counts()
        for _ in range(10000):
            graph.function(*given)
        changes = [a - b for a, b in zip(counts(), before)]
        assert max(map(abs, changes)) < 100, (given, changes)
    kept = weakref.ref(graph)
    del graph, held
    gc.collect()
    assert kept() is None


run_tests(globals())
