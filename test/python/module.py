"""Calls modules with arrays of NumPy, and reads and writes what they hold."""
import copy
import gc
import pickle

import numpy as np
import onnx
from onnx import numpy_helper

import frit
from support import (CPU, FOLDER, IMAGE, LIB, MODELS, PROBABILITIES, SOURCE,
                     digits, fails, run_tests)


def test_numpy():
    assert type(PROBABILITIES) is np.ndarray
    assert PROBABILITIES.shape == (1, 10) and PROBABILITIES.argmax() == 3
    assert np.array_equal(digits(image=IMAGE), PROBABILITIES)
    named = digits.run({"image": IMAGE})
    assert [*named] == ["probabilities"]
    out = np.zeros((1, 10), np.float32)
    assert digits(IMAGE, out=out) is out
    assert np.array_equal(out, PROBABILITIES)
    out[:] = 0
    digits(IMAGE, out={"probabilities": out})
    assert np.array_equal(out, PROBABILITIES)
    # Lists are arrays too; memory that is not aligned to 64 bytes is copied.
    floats = np.empty(65, np.float32)[1:].reshape(1, 1, 8, 8)
    floats[:] = IMAGE
    assert np.array_equal(digits(floats), PROBABILITIES)
    fails(frit.ArgumentError, "must be 1x1x8x8xf32 and is 1x1x8x8xf64",
          lambda: digits(IMAGE.tolist()))


def test_wrong_calls():
    fails(frit.ArgumentError, "input 'image' must be 1x1x8x8xf32 and is "
          "1x8x8xf32", lambda: digits(IMAGE[0]))
    fails(ValueError, "and is 1x1x8x8xf64",
          lambda: digits(IMAGE.astype(np.float64)))
    fails(frit.ArgumentError, "there is no input 'picture'",
          lambda: digits(picture=IMAGE))
    fails(frit.ArgumentError, "input 'image' is missing", lambda: digits())
    fails(frit.ArgumentError, "given twice", lambda: digits(IMAGE, image=IMAGE))
    fails(frit.ArgumentError, "too many inputs", lambda: digits(IMAGE, IMAGE))
    fails(frit.ArgumentError, "not contiguous", lambda: digits(
        np.empty((1, 1, 8, 16), np.float32)[..., ::2]))
    fails(frit.ArgumentError, "type >f4",
          lambda: digits(IMAGE.astype(">f4")))
    fails(frit.ArgumentError, "there is no output 'p'",
          lambda: digits(IMAGE, out={"p": np.empty((1, 10), np.float32)}))
    fails(frit.ArgumentError, "output 'probabilities' must be 1x10xf32",
          lambda: digits(IMAGE, out=np.empty((1, 9), np.float32)))
    constant = np.zeros((1, 10), np.float32)
    constant.flags.writeable = False
    fails(frit.ArgumentError, "can be written to",
          lambda: digits(IMAGE, out=constant))
    fails(frit.ArgumentError, "model(**arrays)", lambda: digits({"image": IMAGE}))
    fails(frit.ArgumentError, "inputs are given by name, as a dict, not as list",
          lambda: digits.run([IMAGE]))
    fails(frit.ArgumentError, "outputs are given by name",
          lambda: digits.run({"image": IMAGE}, out=[IMAGE]))
    for name in (0, "ima\0ge"):
        fails(frit.ArgumentError, "a tensor's name is a text, not ",
              lambda: digits.run({name: IMAGE}))
    fails(frit.ArgumentError, "there is no input", lambda: digits.run(
        {"\ud800": IMAGE}))
    fails(frit.ArgumentError, "must be 1x1x8x8xf32 and is f32",
          lambda: digits(np.float32(3)))
    # A call that failed leaves nothing behind.
    assert np.array_equal(digits(IMAGE), PROBABILITIES)


def test_foreign_artifact():
    artifact = bytearray((LIB / "state_model.so").read_bytes())
    artifact[18:20] = (183).to_bytes(2, "little")  # e_machine: EM_AARCH64
    (FOLDER / "foreign.so").write_bytes(artifact)
    fails(frit.Error, "is made for aarch64, and this machine is x86-64",
          lambda: frit.load(FOLDER / "foreign.so"))


def test_counts():
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("NonZero", ["x"], ["where"])], "nonzero",
        [onnx.helper.make_tensor_value_info("x", 1, [6])],
        [onnx.helper.make_tensor_value_info("where", 7, [1, "n"])])
    where = frit.compile(onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8).SerializeToString(), **CPU)
    x = np.array([0, 1, 0, 2, 0, 0], np.float32)
    assert np.array_equal(where(x), [[1, 3]])
    assert where(np.zeros(6, np.float32)).shape == (1, 0)


def test_info():
    info = digits.info
    assert (info.name, info.function, info.functions) == (
        "digits", "main", ("main",))
    assert info.inputs == (frit.TensorInfo(
        "image", "f32", (1, 1, 8, 8), (1, 1, 8, 8), 256),)
    assert info.state == () and info.weight_bytes > 30000
    target, = info.targets
    assert target.arch == "x86-64-v3" and target.chosen
    assert info.device.device == digits.device == "cpu"
    assert info.device.context_bytes > 0
    steps = digits.profile(IMAGE)
    assert len(steps) == target.steps
    assert sum(step.duration for step in steps) > 0
    assert any("Gemm" in step.node for step in steps), steps


def test_state():
    step = frit.load(LIB / "state_model.so", device="cpu")
    look = step.function("look")
    assert look.function("step") is step and step.function("look") is look
    assert step.info.functions == ("step", "look")
    fails(frit.ArgumentError, "there is no function 'jump'",
          lambda: step.function("jump"))
    state = step.read_state()
    assert [*state] == [info.name for info in step.info.state]
    w = np.arange(4, dtype=np.float32)
    step.write_state(w=w, rate=0.5)
    assert np.array_equal(look()[1], w)
    assert np.array_equal(look.read_state("w")["w"], w)
    step(*[np.ones([*info.dims], bool if info.dtype == "bool" else np.float32)
           for info in step.info.inputs])
    count, w = look()
    assert count == 1 and np.array_equal(w, np.ones(4)), (count, w)
    fails(frit.ArgumentError, "there is no state 'q'",
          lambda: step.read_state("q"))
    fails(frit.ArgumentError, "there is no state 'q'",
          lambda: step.write_state(q=1.0))
    fails(frit.ArgumentError, "state 'w' must be 4xf32",
          lambda: step.write_state(w=w[:2]))
    fails(frit.ArgumentError, "a group's id has 128 bytes, not 3",
          lambda: step.join(0, 1, b"abc"))
    fails(frit.ArgumentError, "'step' averages nothing over several ranks",
          lambda: step.join(0, 1, step.group_id()))
    step.close()
    fails(frit.ArgumentError, "closed", look)


def test_group():
    """A training step joins a group of its own."""
    folder = SOURCE / "test/training/digits"
    step = frit.compile(folder / "model.onnx", **CPU, options=[
        f"--train={folder / 'train.json'}", "-fdata-parallel"])
    step.join(0, 1, step.group_id())
    image, labels = (np.zeros(info.dims, kind) for info, kind in
                     zip(step.info.inputs, (np.float32, np.int64)))
    assert step(image, labels) > 0 and step.read_state("step")["step"] == 1


def test_weights():
    artifact = FOLDER / "weights.so"
    frit.compile(MODELS / "digits.onnx", artifact,
                 options=["-fexternal-weights"], **CPU)
    weights = {i.name: numpy_helper.to_array(i) for i in
               onnx.load(MODELS / "digits.onnx").graph.initializer
               if not i.name.startswith("val")}
    module = frit.load(artifact, device="cpu")
    assert {i.name: i.dims for i in module.info.weights} == {
        name: array.shape for name, array in weights.items()}
    # Every prediction is 7 with such a bias; and as before without.
    bias = np.zeros(10, np.float32)
    bias[7] = 100
    module.set_weights({"6.bias": bias})
    assert module(IMAGE).argmax() == 7
    bias[7], bias[2] = 0, 100
    module.set_weights({"6.bias": bias})
    assert module(IMAGE).argmax() == 2
    module.set_weights(weights)
    assert np.allclose(module(IMAGE), PROBABILITIES, atol=1e-6)
    # Weights that nobody else holds.
    module.set_weights({n: w * 0 for n, w in weights.items()})
    gc.collect()
    even = module(IMAGE)
    assert np.allclose(even, 0.1)
    assert np.array_equal(module(IMAGE), even)
    # The file is not needed for those that are given.
    (FOLDER / "weights.safetensors").unlink()
    fails(frit.Error, "cannot open the weights",
          lambda: frit.load(artifact, device="cpu"))
    given = frit.load(artifact, device="cpu", weights=weights)
    assert np.allclose(given(IMAGE), PROBABILITIES, atol=1e-6)
    fails(frit.ArgumentError, "weight '6.bias' must be 10xf32 and is 9xf32",
          lambda: given.set_weights({"6.bias": bias[:9]}))
    fails(frit.ArgumentError, "there is no weight 'b'",
          lambda: given.set_weights({"b": bias}))
    assert np.allclose(given(IMAGE), PROBABILITIES, atol=1e-6)
    step = frit.load(LIB / "state_model.so", device="cpu")
    fails(frit.ArgumentError, "are set by frit_state_write",
          lambda: step.set_weights({"w": bias}))


def test_closing():
    with frit.compile(MODELS / "digits.onnx", **CPU) as module:
        module(IMAGE)
    fails(frit.ArgumentError, "closed", lambda: module(IMAGE))
    assert "closed" in repr(module)
    fails(frit.ArgumentError, "closed", module.__enter__)
    module.close()
    # Results live on without their module.
    made = frit.load(FOLDER / "kept.so", device="cpu")(IMAGE)
    gc.collect()
    assert np.array_equal(made, PROBABILITIES)


def test_copying():
    """Modules have memory that a copy would share; errors can be sent."""
    for way in copy.copy, copy.deepcopy, pickle.dumps:
        fails(TypeError, "cannot be copied or pickled", lambda: way(digits))
    for error in (frit.CompileError("wrong", 2), frit.Error("none", "no device"),
                  frit.ArgumentError("wrong")):
        made = pickle.loads(pickle.dumps(error))
        assert type(made) is type(error) and vars(made) == vars(error), made
    info = digits.info
    assert pickle.loads(pickle.dumps(info)) == info


def test_wrong_options():
    artifact = LIB / "state_model.so"
    for text, options in (
            ("threads must be a whole number from 0 to 4294967295, not -1",
             {"threads": -1}),
            ("4294967295, not 1099511627776", {"threads": 1 << 40}),
            ("4294967295, not '4'", {"threads": "4"}),
            ("memory_limit must be a whole number", {"memory_limit": 1e9}),
            ("18446744073709551615, not -5", {"memory_limit": -5}),
            ("weights are given by name", {"weights": [IMAGE]}),
            ("'cuda' cannot be disabled", {"disable": "cudnn,cuda"}),
            ("device must be a text such as 'cuda:1', not 0", {"device": 0}),
            ("device has a null character", {"device": "cpu\0junk"}),
            ("weights_folder has a null character", {"weights_folder": "a\0b"}),
            ("an allocator is a pair of functions", {"allocator": len})):
        fails(frit.ArgumentError, text, lambda: frit.load(artifact, **options))
    fails(frit.ArgumentError, r"path has a null character: 'a\x00b'",
          lambda: frit.load("a\0b"))
    fails(TypeError, "not NoneType", lambda: frit.load(None))
    for text, options in (
            ("march is a text such as 'sm_90a'", {"march": 90}),
            ("shape is a dict such as", {"shape": [1, 2]}),
            ("type is a dict such as", {"type": "u8"})):
        fails(frit.ArgumentError, text,
              lambda: frit.compile(MODELS / "digits.onnx", **options))
    module = frit.load(artifact, device="cpu")
    fails(frit.ArgumentError, "rank -1 is not one of 2",
          lambda: module.join(-1, 2, b"0" * 128))


run_tests(globals())
