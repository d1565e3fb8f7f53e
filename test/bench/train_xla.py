"""Times a training step of XLA, as a JAX user would write it: one jitted
function with the state donated, bf16 on f32 master weights, NHWC, batch norm by
the batch's statistics, cuDNN's attention.

    train_xla.py [--attention cudnn|xla] [--steps N] [--seconds S] ROW

ROW is one of train.py's, whose module gives the weights; its data are those of
train.py. Prints a line of JSON.
"""
import argparse
import json
import statistics
import time

from xla import (array, classify, convolve, linear,  # isort: skip
                 linear_of, norm, norm_of, transformer)
import jax
import jax.numpy as jnp
import torch
from torchvision.models import ResNet

import train


def cross_entropy(logits, labels):
    scores = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.take_along_axis(scores, labels[..., None], -1).mean()


def language(module, attention):
    """Weights, and the loss as a function of them, statistics and a batch."""
    causal = module.dense is None
    p = dict(tokens=array(module.tokens.weight),
             positions=array(module.positions.weight),
             norm=norm_of(module.norm),
             blocks=[dict(norm1=norm_of(m.norm1), norm2=norm_of(m.norm2),
                          qkv=linear_of(m.qkv), out=linear_of(m.out),
                          up=linear_of(m.up), down=linear_of(m.down))
                     for m in module.blocks])
    if not causal:
        p["dense"] = linear_of(module.dense)
    heads = module.blocks[0].heads

    def loss(p, _, ids, labels):
        x = p["tokens"][ids] + p["positions"][:ids.shape[1]]
        x = transformer(x.astype(jnp.bfloat16), p["blocks"], heads, causal,
                        not causal, causal, attention)
        if not causal:
            x = jax.nn.gelu(linear(x, p["dense"]), approximate=False)
        x = norm(x, p["norm"])
        return cross_entropy(x @ p["tokens"].astype(x.dtype).T, labels), ()

    return p, (), loss


def residual_network(module, _):
    def layer(conv, bn):
        return dict(w=array(conv.weight).transpose(2, 3, 1, 0),
                    scale=array(bn.weight), bias=array(bn.bias))

    def block(m):
        p = dict(a=layer(m.conv1, m.bn1), b=layer(m.conv2, m.bn2),
                 c=layer(m.conv3, m.bn3))
        if m.downsample:
            p["d"] = layer(*m.downsample)
        return p

    blocks = [m for stage in (module.layer1, module.layer2, module.layer3,
                              module.layer4) for m in stage]
    strides = [m.conv2.stride[0] for m in blocks]
    p = dict(stem=layer(module.conv1, module.bn1), head=linear_of(module.fc),
             blocks=[block(m) for m in blocks])
    layers = [p["stem"]] + [b[n] for b in p["blocks"] for n in "abcd" if n in b]
    running = [(jnp.zeros(q["scale"].shape), jnp.ones(q["scale"].shape))
               for q in layers]

    def loss(p, running, x, labels):
        seen = []

        def conv(x, q, stride=1):
            y = convolve(x, q["w"].astype(x.dtype), stride)
            wide = y.astype(jnp.float32)
            mean = wide.mean((0, 1, 2))
            variance = (wide * wide).mean((0, 1, 2)) - mean * mean
            seen.append((mean, variance))
            scale = q["scale"] * jax.lax.rsqrt(variance + 1e-5)
            return (wide * scale + (q["bias"] - mean * scale)).astype(x.dtype)

        scores = classify(x.astype(jnp.bfloat16), p, strides, conv)
        after = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, running,
                             seen)
        return cross_entropy(scores, labels), after

    return p, running, loss


def adamw(options):
    rate, decay = options["learning_rate"], options["weight_decay"]

    def start(p):
        zeros = lambda: jax.tree.map(jnp.zeros_like, p)
        return zeros(), zeros(), jnp.zeros(())

    def update(p, g, state):
        m, v, t = state
        t = t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)

        def change(p, m, v):
            root = jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8
            return p - rate * (m / (1 - 0.9 ** t) / root + decay * p)

        return jax.tree.map(change, p, m, v), (m, v, t)

    return start, update


def sgd(options):
    rate, decay = options["learning_rate"], options["weight_decay"]

    def update(p, g, m):
        m = jax.tree.map(lambda m, g, p: options["momentum"] * m + g + decay * p,
                         m, g, p)
        return jax.tree.map(lambda p, m: p - rate * m, p, m), m

    return lambda p: jax.tree.map(jnp.zeros_like, p), update


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("row")
    parser.add_argument("--attention", default="cudnn")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=1.5)
    args = parser.parse_args()
    make, data, options, precision = train.ROWS[args.row]
    assert precision == "amp-bf16", precision
    batches = train.make_batches(data, args.steps)
    torch.manual_seed(1)
    module = make()
    p, running, loss = (residual_network if isinstance(module, ResNet) else
                        language)(module, args.attention)
    start, update = (adamw if options["kind"] == "adamw" else sgd)(options)

    def step(state, x, labels):
        p, running, moments = state
        (value, running), g = jax.value_and_grad(loss, has_aux=True)(
            p, running, x, labels)
        after, moments = update(p, g, moments)
        # Numbers are the epsilons of norms.
        p = jax.tree.map(lambda old, new: new if old.ndim else old, p, after)
        return (p, running, moments), value

    p = jax.tree.map(jnp.asarray, p)
    state, step = (p, running, start(p)), jax.jit(step, donate_argnums=0)
    inputs = [(jnp.asarray(x.permute(0, 2, 3, 1).numpy() if x.dim() == 4
                           else x.numpy()), jnp.asarray(y.numpy()))
              for x, y in batches]
    losses, compile_s, begin = [], None, time.time()
    for x, labels in inputs:
        state, value = step(state, x, labels)
        losses.append(float(value))
        compile_s = compile_s or round(time.time() - begin, 1)
    times, begin = [], time.time()
    while len(times) < 10 or time.time() - begin < args.seconds:
        before = time.perf_counter()
        state, value = step(state, *inputs[0])
        jax.block_until_ready((state, value))
        times.append(1e3 * (time.perf_counter() - before))
    memory = jax.devices()[0].memory_stats() or {}
    print(json.dumps(dict(
        ms=round(statistics.median(times), 3), compile_s=compile_s,
        peak_MiB=memory.get("peak_bytes_in_use", 0) >> 20, losses=losses)))


if __name__ == "__main__":
    main()
