"""Steps of optimizers."""
import numpy as np

from graphs import F32, Graph

from .table import operator

DOMAIN = "ai.onnx.preview.training"


def operands_of(g: Graph, states, positive):
    """A rate, a count, tensors, their gradients and their states."""
    x = g.tensor(least=1)
    count = g.integer(0, 3)
    more = [g.given(g.draw(x.shape)) for _ in range(1 + states)]
    if positive:  # a state that is a sum of squares
        more[-1] = g.given((np.abs(more[-1].array) + 0.5).astype(F32))
    return [g.given(np.float32(0.125)), g.given(np.int64(count)), x, *more]


@operator()
def momentum(g: Graph):
    return g.add("Momentum", operands_of(g, 1, False), outputs=2,
                 domain=DOMAIN, alpha=0.875, beta=0.5,
                 norm_coefficient=g.one_of(0.0, 0.125),
                 mode=g.one_of("standard", "nesterov"))


@operator()
def adagrad(g: Graph):
    return g.add("Adagrad", operands_of(g, 1, True), outputs=2, domain=DOMAIN,
                 epsilon=1e-3, decay_factor=g.one_of(0.0, 0.125),
                 norm_coefficient=g.one_of(0.0, 0.125))


@operator()
def adam(g: Graph):
    return g.add("Adam", operands_of(g, 2, True), outputs=3, domain=DOMAIN,
                 alpha=0.875, beta=0.5, epsilon=1e-3,
                 norm_coefficient=g.one_of(0.0, 0.125),
                 norm_coefficient_post=g.one_of(0.0, 0.125))
