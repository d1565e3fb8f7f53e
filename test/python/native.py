"""The package's compiled module, with classes and functions that stand for those of
the package, of the runtime and of PyTorch, whose part in DLPack is here too.
"""
import ctypes
import gc
import sys
import weakref

from checks import fails, run_tests
from frit import _abi, _native
from frit._dlpack import DLTensor

ROW_MAJOR = {(): (), (6,): (1,), (2, 3): (3, 1), (3, 2): (2, 1), (1, 3): (3, 1)}


class Tensor:
    """Stands for torch.Tensor."""

    def __init__(self, shape=(2, 3), strides=None, bits=32, device=(1, 0),
                 counted=True):
        self.shape = (ctypes.c_int64 * 3)(*shape)
        self.strides = (ctypes.c_int64 * 3)(*(strides or ROW_MAJOR[shape]))
        self.rank, self.bits, self.device = len(shape), bits, device
        self.memory, self.counted = ctypes.create_string_buffer(64), counted
        self.version, self.negative = 0, False

    def data_ptr(self):
        return ctypes.addressof(self.memory) + 8

    @property
    def _version(self):
        if not self.counted:
            raise RuntimeError("tensors of inference mode have no version")
        return self.version

    def is_neg(self):
        return self.negative


class Parameter(Tensor):
    pass


class Derived(Tensor):
    pass


class Table(ctypes.Structure):
    """DLPackExchangeAPI."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("previous", ctypes.c_void_p), ("others", ctypes.c_void_p * 3),
                ("view", ctypes.c_void_p), ("stream", ctypes.c_void_p)]


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
def view(tensor, described):
    """dltensor_from_py_object_no_sync."""
    described[0] = DLTensor(ctypes.addressof(tensor.memory), *tensor.device,
                            tensor.rank, 2, tensor.bits, 1, tensor.shape,
                            tensor.strides, 8)
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
def current_stream(kind, gpu, stream):
    assert (kind, gpu) == (2, 3)
    ctypes.c_void_p.from_address(stream).value = STREAMS.pop(0)
    return 0


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


STREAMS: list = []
TABLE = Table(1, 3, None, (ctypes.c_void_p * 3)(), address_of(view),
              address_of(current_stream))
ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
ctypes.pythonapi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p,
                                           ctypes.c_void_p]


def use(table=TABLE, name=b"dlpack_exchange_api"):
    """Lets the compiled module use a table of functions."""
    Tensor.__dlpack_c_exchange_api__ = ctypes.pythonapi.PyCapsule_New(
        ctypes.addressof(table), name, None)
    _native.use(Tensor, Parameter)


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
            address_of(self.run), array, array, (x,),
            lambda *shape: Tensor(shape), ((2, 3),), gpu, self.tensors)
        self.function = _native.callable(self)

    def see(self, tensors):
        self.seen = tuple(tensors), ([t.version if t.counted else None
                                      for t in tensors],
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
    fails(AttributeError, "__dlpack_c_exchange_api__",
          lambda: _native.use(Tensor, Parameter))
    use(Table(2, 0, ctypes.addressof(TABLE)))  # the older one is used
    x = Tensor()
    assert Graph(x).function(x) != "python"
    for table in Table(2, 0), Table(0, 9), Table(1, 3):
        fails(BufferError, "another version of DLPack", lambda: use(table))
    fails(ValueError, "incorrect name", lambda: use(name=b"another name"))
    fails(TypeError, "types of tensors", lambda: _native.use(None, None))
    use()


def test_calls():
    x, y = Tensor(), Tensor()
    graph = Graph(x)
    made, = graph.function(y)
    assert type(made) is Tensor and graph.runs == [y.data_ptr()]
    assert graph.function(y, **{})[0].data_ptr() != made.data_ptr()
    assert len(graph.function(Parameter())) == 1
    # What is left to Python: other tensors, remarks, errors, no free context.
    negative = Tensor()
    negative.negative = True
    for other in (Tensor((3, 2)), Tensor((6,)), Tensor(strides=(1, 2)), Derived(),
                  Tensor(bits=16), Tensor(device=(2, 0)), Tensor(device=(1, 1)),
                  negative, None):
        assert graph.function(other) == "python", other
    assert graph.function(x, other=x) == graph.function() == "python"
    graph.pending.append("a remark")
    assert graph.function(x) == "python"
    graph.pending, graph.status = [], 1
    assert graph.function(x) == "python" and graph.free == [graph]
    graph.status, graph.free = 0, []
    assert graph.function(x) == "python"
    graph.free = type("Returned", (list,), {})([graph])
    assert graph.function(x) == "python" and len(graph.free) == 1
    graph.free = [graph]
    # What is no graph yet, or another's.
    for compiled in {}, {(): None}, {(): 3}, None:
        graph.compiled = compiled
        assert graph.function(x) == "python"
    # The stride of a single element does not matter, nor does a lack of any.
    for shape, strides in ((1, 3), (9, 1)), ((), ()):
        assert len(Graph(Tensor(shape)).function(Tensor(shape, strides))) == 1
    fails(BufferError, "DLPack cannot describe a tensor", lambda: Graph(Derived()))
    fails(TypeError, "exactly 8 arguments", lambda: _native.Repeated())


def test_sizes():
    """Each set of sizes among the arguments has a call of its own."""
    x, y = Tensor(), Tensor((3, 2))
    graph, other = Graph(x), Graph(y)
    other.free = graph.free
    graph.sizes, call = [1], graph.calls[()]
    graph.compiled = {(2,): graph, (3,): graph, (4,): graph}
    graph.calls = {(2,): call, (3,): other.calls[()]}
    assert len(graph.function(x, 2)) == len(graph.function(y, 3)) == 1
    for given in (x, 3), (y, 2), (x, 4), (x, 5), (x,):
        assert graph.function(*given) == "python", given
    graph.sizes = ["no place"]
    assert graph.function(x, 2) == "python"


def test_parameters():
    x, weight, bias = Tensor(), Parameter((6,)), Tensor((6,))
    given = x, weight, bias
    graph = Graph(x, given[1:])
    assert len(graph.function(*given)) == 1
    assert len(graph.function(x, weight)) == 1  # the graph holds the other
    assert graph.function(x, weight, Tensor((6,))) == "changed"
    # Another thread that replaces parameters changes `seen`.
    for change in (lambda: setattr(bias, "version", bias.version + 1),
                   lambda: setattr(bias, "memory", Tensor().memory),
                   lambda: setattr(bias, "counted", False),
                   lambda: graph.see(given[1:]),
                   lambda: setattr(graph, "seen", ((), ([-1], [])))):
        graph.meanwhile = change
        assert graph.function(*given) == "changed"
        graph.meanwhile = lambda: None
        graph.see(given[1:])
        assert len(graph.function(*given)) == 1
    assert _native.same(graph.seen, given, graph.watched)
    assert not _native.same(graph.seen, (x, bias, weight), graph.watched)
    other = Derived((6,))  # DLPack does not describe it
    graph.see([weight, other])
    assert not _native.same(graph.seen, (x, weight, other), graph.watched)
    fails(TypeError, "must be tuple",
          lambda: _native.same(None, given, graph.watched))
    for seen in None, (), ((weight, bias), ([0], [])), ((weight, bias), ([], [])):
        graph.seen = seen
        assert graph.function(*given) == "changed", seen


def test_streams():
    """Calls of a GPU's module run on PyTorch's current stream, 1 for the legacy
    default one, which the context is told when it changes."""
    x = Tensor(device=(2, 3))
    graph = Graph(x, gpu=3)
    for stream, used in ((None, [1]), (None, [1]), (7, [1, 7]), (7, [1, 7]),
                         (1, [1, 7, 1])):
        STREAMS.append(stream)
        assert len(graph.function(x)) == 1 and graph.used == used
    # No error that Python would raise again; the context is given back.
    STREAMS.append(9)
    fails(KeyboardInterrupt, "", lambda: graph.function(x))
    assert graph.free == [graph] and len(graph.runs) == 5


def test_references():
    """Calls keep nothing, and a graph is freed."""
    x, weight, other = Tensor(), Parameter((6,)), Tensor((6,))
    graph = Graph(x, [weight])
    held = (x, weight, other, graph, graph.seen, graph.free, graph.calls[()],
            graph.tensors, Tensor, Parameter, (), None, False)

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
