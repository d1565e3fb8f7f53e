"""Decoders whose caches are inputs and outputs, as optimum and PyTorch write them: past.py WORK

The weights of a folder become an ONNX model by hand, with concatenated caches, in forms of exporters.
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
from reference import Decoder

CAPACITY = 40
LOWEST = float(np.finfo(np.float32).min)


class Graph:
    """Builds a decoder node by node. A node is called by what it computes."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def __call__(self, op, *inputs, name=None, **attributes):
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def ints(self, *values):
        return self.weight(np.array(values, np.int64))

    def number(self, value):
        return self.weight(np.array(value, np.float32))


def llama(model, window=None, opset=18, written=None, **changes):
    """The model with past_key_values, attention_mask and position_ids. With `written`, an operator,
    caches of a fixed size into which it writes rows at cache_position. `changes` make errors."""
    g, size, heads, groups = Graph(), model.size, model.heads, model.groups

    def norm(x, name):
        mean = g("ReduceMean", g("Mul", x, x), g.ints(-1), keepdims=1)
        root = g("Sqrt", g("Add", mean, g.number(model.epsilon)))
        return g("Mul", g("Div", x, root), g.weight(model.tensor(name + ".weight")))

    def product(x, name):
        return g("MatMul", x, g.weight(model.tensor(name + ".weight").T))

    def split(x, count):
        x = g("Reshape", x, g.ints(0, 0, count, size))
        return g("Transpose", x, perm=[0, 2, 1, 3])

    def rotate(x, cos, sin):
        a = g("Slice", x, g.ints(0), g.ints(size // 2), g.ints(3))
        b = g("Slice", x, g.ints(size // 2), g.ints(size), g.ints(3))
        turned = g("Concat", g("Neg", b), a, axis=-1)
        return g("Add", g("Mul", x, cos), g("Mul", turned, sin))

    embedding = g.weight(model.tensor("embed_tokens.weight"))
    x = g("Gather", embedding, "input_ids", axis=0)
    angles = np.arange(64)[:, None] * 1e4 ** -(np.arange(0, size, 2) / size)
    tables = [g.weight(f(np.concatenate([angles, angles], 1)).astype(np.float32))
              for f in (np.cos, np.sin)]
    cos, sin = (g("Unsqueeze", g("Gather", t, "position_ids", axis=0), g.ints(1)) for t in tables)
    # The causal mask follows from shapes: query i is key past + i.
    past = g("Gather", g("Shape", "past_key_values.0.key"), g.ints(2), axis=0)
    count = g("Gather", g("Shape", "input_ids"), g.ints(1), axis=0)
    total = past if written else g("Add", past, count)
    keys = g("Range", g.weight(np.int64(0)), g("Squeeze", total), g.weight(np.int64(1)))
    rows = g("Range", g.weight(np.int64(0)), g("Squeeze", count), g.weight(np.int64(1)))
    own = g("Unsqueeze", "cache_position" if written else g("Add", rows, past), g.ints(1))
    seen = g("LessOrEqual", g("Unsqueeze", keys, g.ints(0)), own)
    if window:
        near = g("Greater", keys, g("Sub", own, g.ints(window)))
        seen = g("And", seen, near)
    if written != "ScatterND":
        given = g("Cast", "attention_mask", to=TensorProto.BOOL)
        seen = g("And", seen, g("Unsqueeze", given, g.ints(1, 2)))
    bias = g("Where", seen, g.number(0), g.number(LOWEST))
    presents = []
    for i in range(model.layers):
        at = f"layers.{i}."
        y = norm(x, at + "input_layernorm")
        q = rotate(split(product(y, at + "self_attn.q_proj"), heads), cos, sin)
        k = rotate(split(product(y, at + "self_attn.k_proj"), groups), cos, sin)
        v = split(product(y, at + "self_attn.v_proj"), groups)
        both = []
        for what, new in (("key", k), ("value", v)):
            name, entries = f"present.{i}.{what}", f"past_key_values.{i}.{what}"
            if written == "ScatterND":
                first = [g("Transpose", each, perm=[2, 0, 1, 3]) for each in (entries, new)]
                places = g("Unsqueeze", "cache_position", g.ints(1))
                whole = g("Transpose", g("ScatterND", first[0], places, first[1]),
                          perm=[1, 2, 0, 3], name=name)
            elif written:
                places = g("Unsqueeze", "cache_position", g.ints(0, 1, 3))
                whole = g("ScatterElements", entries, g("Expand", places, g("Shape", new)), new,
                          axis=2, name=name)
            else:
                whole = g("Concat", entries, new, axis=-2, name=name)
            presents.append(whole)
            apart = g("Unsqueeze", whole, g.ints(2))
            shape = g("Concat", g.ints(*([1] * 2), heads // groups, 1, 1), axis=0)
            apart = g("Expand", apart, shape)
            shape = g("Concat", g.ints(0, heads), total, g.ints(size), axis=0)
            both.append(g("Reshape", apart, shape))
        scores = g("MatMul", q, g("Transpose", both[0], perm=[0, 1, 3, 2]))
        scores = g("Add", g("Mul", scores, g.number(model.scale)), bias)
        y = g("MatMul", g("Softmax", scores, axis=-1), both[1])
        y = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]), g.ints(0, 0, heads * size))
        x = g("Add", x, product(y, at + "self_attn.o_proj"))
        y = norm(x, at + "post_attention_layernorm")
        gate = product(y, at + "mlp.gate_proj")
        y = g("Mul", g("Mul", gate, g("Sigmoid", gate)), product(y, at + "mlp.up_proj"))
        x = g("Add", x, product(y, at + "mlp.down_proj"))
    g("MatMul", norm(x, "norm"), g.weight(model.tensors["lm_head.weight"].T), name="logits")
    past_shape = ["batch", groups, "past", size]
    inputs = {"input_ids": (TensorProto.INT64, ["batch", "sequence"]),
              "attention_mask": (TensorProto.INT64, ["batch", "past + sequence"]),
              "position_ids": (TensorProto.INT64, ["batch", "sequence"])}
    for present in presents:
        name = present.replace("present", "past_key_values")
        inputs[name] = (TensorProto.FLOAT, past_shape)
    outputs = {"logits": ["batch", "sequence", 61]}
    outputs |= {p: ["batch", groups, "past + sequence", size] for p in presents}
    if written:
        inputs["cache_position"] = (TensorProto.INT64, ["sequence"])
        inputs["attention_mask"] = (TensorProto.INT64, [1, CAPACITY])
        for present in presents:
            inputs[present.replace("present", "past_key_values")] = (
                TensorProto.FLOAT, [1, groups, CAPACITY, size])
            outputs[present] = [1, groups, CAPACITY, size]
    if written == "ScatterND":
        inputs.pop("attention_mask")
    changes.get("change", lambda *all: None)(g, inputs, outputs)
    graph = helper.make_graph(
        g.nodes, "decoder", [helper.make_tensor_value_info(n, *i) for n, i in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
        g.weights)
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", opset)])


def write(path, *arguments, **switches):
    onnx.save(llama(*arguments, **switches), path)
    return path


def compile(path, *options, context=CAPACITY):
    artifact = path.with_suffix(".so")
    subprocess.run(["fritc", path, "-march=x86-64-v3", f"--context={context}",
                    "-fshape=chunk=1,8", *options, "-o", artifact], check=True)
    return frit.load(artifact, device="cpu", threads=1)


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


def fails(work, model, name, change, text, *options, **switches):
    path = write(work / f"{name}.onnx", model, change=change, **switches)
    done = subprocess.run(["fritc", path, "-march=x86-64-v3", "--context=8", *options, "-o",
                           work / "no.so"], capture_output=True, text=True)
    assert done.returncode == 1 and text in done.stderr, (name, done.returncode, done.stderr)


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


def from_sizes(g, inputs, outputs):
    """Positions follow from the size of a cache."""
    inputs.pop("position_ids")
    past = g("Squeeze", g("Gather", g("Shape", "past_key_values.1.value"), g.ints(2), axis=0))
    count = g("Squeeze", g("Gather", g("Shape", "input_ids"), g.ints(1), axis=0))
    places = g("Range", past, g("Add", past, count), g.weight(np.int64(1)))
    g("Unsqueeze", places, g.ints(0), name="position_ids")
    g.nodes[:] = g.nodes[-9:] + g.nodes[:-9]


def computed(form, size, g, inputs, outputs):
    """Angles are positions, which follow from the size of a cache, and frequencies."""
    from_sizes(g, inputs, outputs)
    steps = 1e4 ** -(np.arange(0, size, 2) / size)
    before = list(g.nodes)
    number = g("Cast", "position_ids", to=TensorProto.FLOAT)
    if form == "MatMul":
        frequencies = g.weight(steps.astype(np.float32)[None, :, None])
        half = g("Transpose", g("MatMul", frequencies, g("Unsqueeze", number, g.ints(1))),
                 perm=[0, 2, 1])
    elif form == "Einsum":
        half = g("Einsum", number, g.weight(steps.astype(np.float32)), equation="bi,j->bij")
    else:
        factor = steps if form == "Mul" else 1 / steps
        half = g(form, g("Unsqueeze", number, g.ints(2)), g.weight(factor.astype(np.float32)))
    angles = g("Concat", half, half, axis=-1)
    tables = [n for n in before if n.op_type == "Gather" and "position_ids" in n.input]
    for turn, table in zip(("Cos", "Sin"), tables):
        g(turn, angles, name=table.output[0])
    first = next(i for i, n in enumerate(before) if n.output[0] == "position_ids") + 1
    g.nodes[:] = [*before[:first], *g.nodes[len(before):],
                  *(n for n in before[first:] if n not in tables)]


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
                         ("shared", shared), *forms.items()):
        path = write(work / f"{name}.onnx", model, change=change)
        module = compile(path, "--verify=5")
        expected = model.generate(prompt, CAPACITY - len(prompt) + 1)
        assert list(module.generate(prompt)) == expected, name
        assert list(module.generate(prompt, speculate="lookup")) == expected, name
        if name in forms:
            batch = frit.Session(compile(path, "--batch=2"))
            for i, each in enumerate((prompt, [2, 3])):
                batch.prefill(each, i)
            assert batch.decode(8).tolist() == [model.generate(each, 8) for each in (prompt, [2, 3])]
    print("ok sizes")


def without_mask(g, inputs, outputs):
    """No mask of keys: all entries of the caches count."""
    inputs.pop("attention_mask")
    # seen = And(seen, given) becomes seen.
    cast = next(n for n in g.nodes if n.op_type == "Cast" and "attention_mask" in n.input)
    both = next(n for n in g.nodes if n.op_type == "And" and
                any(cast.output[0] in m.input and m.output[0] in n.input for m in g.nodes))
    kept = both.input[0]
    for node in g.nodes:
        node.input[:] = [kept if n == both.output[0] else n for n in node.input]
    spread = next(n for n in g.nodes if cast.output[0] in n.input)
    for node in (cast, both, spread):
        g.nodes.remove(node)


def pruned(g, inputs, outputs):
    """The head reads the last token alone."""
    head = g.nodes[-1]
    row = g("Gather", head.input[0], g("Squeeze", g.ints(-1)), axis=1)
    g("MatMul", g("Unsqueeze", row, g.ints(1)), head.input[1], name="logits")
    g.nodes.remove(head)
    outputs["logits"] = ["batch", 1, 61]


def check_pruned(work):
    model = Decoder(work / "llama", CAPACITY)
    module = compile(write(work / "pruned.onnx", model, change=pruned), "--batch=2")
    prompts = [[5, 7, 9, 11, 3, 2, 8, 50, 41, 40, 7], [2, 3]]
    session = frit.Session(module)
    for i, prompt in enumerate(prompts):
        session.prefill(prompt, i)
    assert session.decode(8).tolist() == [model.generate(prompt, 8) for prompt in prompts]
    print("ok pruned")


def check_errors(work):
    model = Decoder(work / "llama", CAPACITY)

    def without(name):
        def change(g, inputs, outputs):
            inputs.pop(name)
            shape = [1, 1] if name == "position_ids" else [1, 9]
            g.weights.append(numpy_helper.from_array(np.ones(shape, np.int64), name))
        return change

    def extra(name, kind, shape):
        return lambda g, inputs, outputs: inputs.update({name: (kind, shape)})

    def reads(g, inputs, outputs):
        g("ReduceSum", "past_key_values.1.key", name="sum")
        outputs["sum"] = []

    def unnamed(g, inputs, outputs):
        g("Identity", "v0", name="hidden")
        g.nodes[-2].output[0] = "scores"
        outputs["hidden"] = outputs["scores"] = outputs.pop("logits")

    def pooled(g, inputs, outputs):
        g("ReduceSum", "logits", g.ints(1), name="last")
        outputs.pop("logits")
        outputs["last"] = ["batch", 1, 61]

    def fixed(g, inputs, outputs):
        for name in inputs:
            if name.startswith("past"):
                inputs[name] = (TensorProto.FLOAT, [1, 2, 8, 8])

    def several(g, inputs, outputs):
        inputs["past_key_values.0.key"] = (TensorProto.FLOAT, ["batch", "heads", "past", 8])

    def angles(g, inputs, outputs):
        # Rotation by the number of entries itself, not by rows of a table.
        from_sizes(g, inputs, outputs)
        for i, node in enumerate(g.nodes):
            if node.op_type == "Gather" and "position_ids" in node.input:
                number = helper.make_node("Cast", ["position_ids"], [f"{node.output[0]}.number"],
                                          to=TensorProto.FLOAT)
                row = helper.make_node("Unsqueeze", [number.output[0], g.ints(2)], [node.output[0]])
                g.nodes[i] = row
                g.nodes.insert(i, number)

    def reduced(g, inputs, outputs):
        without("attention_mask")(g, inputs, outputs)
        whole = next(n for n in g.nodes if n.output[0] == "present.0.key")
        for node in g.nodes:
            node.input[:] = ["sorted" if n == whole.output[0] else n for n in node.input]
        g.nodes.insert(g.nodes.index(whole) + 1,
                       helper.make_node("CumSum", [whole.output[0], g.ints(2)], ["sorted"]))

    chunk = "-fshape=chunk=1"
    fails(work, model, "angles", angles, "depends on the size of the caches, which frit keeps", chunk)
    fails(work, model, "quotients", lambda *all: computed("Div", model.size, *all),
          "depends on the size of the caches, which frit keeps", chunk)
    fails(work, model, "reduced", reduced,
          "reads a cache in a way in which its free entries cannot be hidden", chunk)
    fails(work, model, "extra", extra("temperature", TensorProto.FLOAT, [1]),
          "input 'temperature': of type 'tensor<1xf32>' is none of a decoder's")
    fails(work, model, "types", extra("token_type_ids", TensorProto.INT64, ["batch", "sequence"]),
          "input 'token_type_ids'")
    fails(work, model, "reads", reads, "reads the cache 'past_key_values.1.key' beside the output")
    fails(work, model, "unnamed", unnamed, "has 2 outputs besides its caches, none of which")
    fails(work, model, "pooled", pooled, "but --context needs floats for each token")
    fails(work, model, "pruned", pruned, "has logits of the last token alone, and --verify needs",
          "--verify=2")
    fails(work, model, "fixed", fixed, "no input of the model is one")
    fails(work, model, "several", several, "has several open dimensions besides the batch")
    fails(work, model, "long", lambda *all: None, "exceeds the 64 that the model has",
          "--context=65")
    print("ok errors")


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
