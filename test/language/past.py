"""Decoders whose caches are inputs and outputs, as optimum and PyTorch write them: past.py WORK

The weights of a folder become an ONNX model by hand (past_models.py), with concatenated caches, in
forms of exporters.
Prefill by chunks of several sizes and decode are compared with NumPy.
"""
import subprocess
import sys
from pathlib import Path

import frit
import numpy as np
import onnx
from emulated import emulate
from folders import make
from onnx import TensorProto, helper, numpy_helper
from past_errors import check_errors, fails
from past_models import (CAPACITY, compile, computed, counted, from_sizes, pruned,
                         without_mask, write)
from reference import Decoder


def check(work, name, folder, window=None):
    make(work, folder)
    model = Decoder(work / folder, CAPACITY)
    path = write(work / f"{name}.onnx", model, window)
    module = compile(path)
    prompt = [5, 7, 9, 11, 3, 2, 8, 50, 41, 40, 7]
    expected = model.generate(prompt, CAPACITY - len(prompt) + 1)
    assert list(module.generate(prompt)) == expected, (name, list(module.generate(prompt)), expected)
    with frit.Session(module) as session:
        long = (prompt * 4)[:37]
        for part in (long[:1], long[1:4], long[4:20], long[20:]):
            logits = session.prefill(part)
        assert np.allclose(logits, model.logits(long), atol=3e-5)
        session.rewind(0)
        session.prefill(prompt)
        assert session.decode(9).tolist() == [expected[:9]]
    # Guesses are checked several at a time.
    assert list(compile(path, "--verify=5").generate(prompt, speculate="lookup")) == expected
    # Sequences of different lengths beside one another.
    batch = frit.Session(compile(path, "--batch=2"))
    prompts = [prompt, [2, 3]]
    for i, each in enumerate(prompts):
        batch.prefill(each, i)
    assert batch.decode(8).tolist() == [model.generate(each, 8) for each in prompts], name
    print("ok", name)


def check_written(work):
    """Caches of a fixed size, as transformers' StaticCache."""
    model = Decoder(work / "llama", CAPACITY)
    prompt = [5, 7, 9, 11, 3, 2, 8, 50, 41, 40, 7]
    expected = model.generate(prompt, CAPACITY - len(prompt) + 1)
    for written in ("ScatterND", "ScatterElements"):
        path = write(work / f"{written}.onnx", model, written=written)
        # Masks by positions are ranges: attention reads the keys in use.
        fused = subprocess.run(["fritc", path, "-march=x86-64-v3", "--context=40", "--emit=fused",
                                "-fshape=chunk=8", "-o", "-"], check=True, capture_output=True,
                               text=True).stdout
        assert fused.count("#cpu.ranged_attention") == 2 * model.layers, fused
        module = compile(path, "--verify=5")
        assert list(module.generate(prompt)) == expected, written
        assert list(module.generate(prompt, speculate="lookup")) == expected, written
        with frit.Session(module) as session:
            long = (prompt * 4)[:39]
            for part in (long[:1], long[1:4], long[4:20], long[20:]):
                logits = session.prefill(part)
            assert np.allclose(logits, model.logits(long), atol=3e-5), written

    # A file for one token a call has prefill of as many.
    def single(g, inputs, outputs):
        inputs.update(input_ids=(TensorProto.INT64, [1, 1]), position_ids=(TensorProto.INT64, [1, 1]),
                      cache_position=(TensorProto.INT64, [1]))
        outputs["logits"] = [1, 1, 61]

    path = write(work / "single.onnx", model, written="ScatterND", change=single)
    assert list(compile(path).generate(prompt)) == expected

    def shifted(g, inputs, outputs):
        """Rows are written before the positions of their tokens, from entry 1 on."""
        before = g("Max", g("Sub", "cache_position", g.ints(1)), g.ints(0))
        g.nodes[:] = g.nodes[-2:] + g.nodes[:-2]
        places = {node.input[1] for node in g.nodes if node.op_type == "ScatterND"}
        for node in g.nodes:
            if node.output[0] in places:
                node.input[0] = before

    def pair(g, inputs, outputs):
        for caches in (inputs, outputs):
            for name in caches:
                if "." in name:
                    kind, shape = caches[name] if caches is inputs else (0, caches[name])
                    shape = [2, *shape[1:]]
                    caches[name] = (kind, shape) if caches is inputs else shape

    static = dict(written="ScatterND")
    fails(work, model, "shifted", shifted, "elsewhere than at an input of positions",
          "--context=40", **static)
    fails(work, model, "size", lambda *all: None,
          "caches have 40 entries, a size that the model fixes: --context=40", **static)
    fails(work, model, "pair", pair, "supports with --batch=1 alone", "--batch=2", "--context=40",
          **static)
    fails(work, model, "guesses", single, "takes calls of 1 tokens alone, and --verify needs "
          "several", "--context=40", "--verify=2", **static)
    print("ok written")


def check_merged(work):
    """Both forms in one file, as optimum merges them: an If chooses one by an input."""
    model = Decoder(work / "llama", CAPACITY)
    known = work / "with-caches.npy"

    def merge(g, inputs, outputs):
        # The other branch has no caches before the call, which its presents show.
        names = list(outputs)
        plain = [n for n in inputs if n.startswith("past")]
        nodes = list(g.nodes)
        branches = {}
        for branch in ("then_branch", "else_branch"):
            own = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
            for node in own:
                for field in (node.input, node.output):
                    for i, name in enumerate(field):
                        if branch == "else_branch" and name in plain:
                            field[i] = f"empty.{name}"
                        elif name in names:
                            field[i] = f"{branch}.{name}"
            empty = [helper.make_node("Slice", [name, "zero", "zero", "two"], [f"empty.{name}"])
                     for name in plain] if branch == "else_branch" else []
            branches[branch] = helper.make_graph(
                empty + own, branch, [],
                [helper.make_tensor_value_info(f"{branch}.{n}", TensorProto.FLOAT, None)
                 for n in names])
        g.nodes[:] = [helper.make_node("If", ["use_cache_branch"], names, name="merged", **branches)]
        g.weights += [numpy_helper.from_array(np.array([0]), "zero"),
                      numpy_helper.from_array(np.array([2]), "two")]
        inputs["use_cache_branch"] = (TensorProto.BOOL, [1])

    path = write(work / "merged.onnx", model, change=merge)
    prompt = [5, 7, 9, 11, 3, 2, 8, 50, 41, 40, 7]
    np.save(known, np.array([True]))
    for options in ([], [f"-fconst-input=use_cache_branch=@{known}"]):
        module = compile(path, *options)
        assert list(module.generate(prompt)) == model.generate(prompt, CAPACITY - len(prompt) + 1)
    # A model without states needs to be told.
    done = subprocess.run(["fritc", path, "-march=x86-64-v3", "-fshape=batch=1", "-fshape=past=4",
                           "-fshape=sequence=1", "-o", work / "no.so"], capture_output=True, text=True)
    assert done.returncode == 1 and (
        "node 'merged' (If, opset 18): a branch of it cannot be compiled, and both are unless its "
        "condition is known; -fconst-input=use_cache_branch=@FILE makes that input a constant"
        in done.stderr), done.stderr
    print("ok merged")


def check_sizes(work):
    """Positions and the mask of keys follow from the sizes of caches."""
    model = Decoder(work / "llama", CAPACITY)
    prompt = [5, 7, 9, 11, 3, 2, 8, 50, 41, 40, 7]

    def sliced(g, inputs, outputs):
        """Rows of tables from the number of entries on."""
        from_sizes(g, inputs, outputs)
        first, end = (next(n for n in g.nodes if n.op_type == "Range" and "position_ids" in
                           next(m for m in g.nodes if n.output[0] in m.input).output).input[:2])
        for i, node in enumerate(g.nodes):
            if node.op_type == "Gather" and "position_ids" in node.input:
                ends = [helper.make_node("Unsqueeze", [e, g.ints(0)], [f"{node.output[0]}.{j}"])
                        for j, e in enumerate((first, end))]
                rows = helper.make_node("Slice", [node.input[0], *(e.output[0] for e in ends),
                                                  g.ints(0)], [f"{node.output[0]}.rows"])
                g.nodes[i] = helper.make_node("Unsqueeze", [rows.output[0], g.ints(0)],
                                              [node.output[0]])
                g.nodes[i:i] = [*ends, rows]

    def shared(g, inputs, outputs):
        """One list of positions for all sequences."""
        inputs.pop("position_ids")
        inputs["cache_position"] = (TensorProto.INT64, ["sequence"])
        g("Unsqueeze", "cache_position", g.ints(0), name="position_ids")
        g.nodes.insert(0, g.nodes.pop())

    forms = {form: lambda *all, form=form: computed(form, model.size, *all)
             for form in ("MatMul", "Mul", "Einsum")}
    for name, change in (("positions", from_sizes), ("keys", without_mask), ("slices", sliced),
                         ("shared", shared), ("counted", counted), *forms.items()):
        path = write(work / f"{name}.onnx", model, change=change)
        module = compile(path, "--verify=5")
        expected = model.generate(prompt, CAPACITY - len(prompt) + 1)
        assert list(module.generate(prompt)) == expected, name
        assert list(module.generate(prompt, speculate="lookup")) == expected, name
        if name in forms or name == "counted":
            batch = frit.Session(compile(path, "--batch=2"))
            for i, each in enumerate((prompt, [2, 3])):
                batch.prefill(each, i)
            assert batch.decode(8).tolist() == [model.generate(each, 8) for each in (prompt, [2, 3])]
    print("ok sizes")


def check_pruned(work):
    model = Decoder(work / "llama", CAPACITY)
    module = compile(write(work / "pruned.onnx", model, change=pruned), "--batch=2")
    prompts = [[5, 7, 9, 11, 3, 2, 8, 50, 41, 40, 7], [2, 3]]
    session = frit.Session(module)
    for i, prompt in enumerate(prompts):
        session.prefill(prompt, i)
    assert session.decode(8).tolist() == [model.generate(prompt, 8) for prompt in prompts]
    print("ok pruned")


if __name__ == "__main__":
    work = Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    check(work, "llama", "llama")
    check(work, "windows", "mistral", window=8)
    emulate(work / "llama.onnx", ["prefill", "decode", "verify"], "--context=16",
            "-fshape=chunk=2", "--verify=3")
    check_merged(work)
    check_sizes(work)
    check_pruned(work)
    check_written(work)
    emulate(work / "ScatterND.onnx", ["prefill", "decode"], "--context=40", "-fshape=chunk=2")
    check_errors(work)
