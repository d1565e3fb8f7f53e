"""RNN, GRU and LSTM."""
import numpy as np

from graphs import F32, I32, Graph

from .table import operator


@operator(("RNN", 1), ("GRU", 3), ("LSTM", 4), weight=2)
def recurrent(g: Graph, op, gates):
    steps, batch, size = g.integer(1, 5), g.integer(1, 4), g.integer(1, 6)
    hidden = g.integer(1, 5)
    direction = g.one_of("forward", "forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    x = g.pick(F32, lambda v: v.rank == 3 and v.shape[0] < 6
               and np.all(abs(v.array) < 8),
               lambda: g.draw([steps, batch, size]))
    steps, batch, size = x.shape

    def weights(*shape):
        return g.given((g.draw(shape) / 4).astype(F32))
    bias = weights(ways, 2 * gates * hidden) if g.chance(0.7) else None
    lengths = None
    if g.chance(0.3):
        lengths = g.given(g.rng.integers(1, steps + 1, batch).astype(I32))
    start = weights(ways, batch, hidden) if g.chance(0.5) else None
    operands = [x, weights(ways, gates * hidden, size),
                weights(ways, gates * hidden, hidden), bias, lengths, start]
    attributes = dict(hidden_size=hidden, direction=direction)
    if op == "LSTM":
        operands.append(weights(ways, batch, hidden)
                        if start and g.chance(0.5) else None)
        operands.append(weights(ways, 3 * hidden) if g.chance(0.3) else None)
    if op == "GRU":
        attributes["linear_before_reset"] = g.integer(0, 2)
    return g.add(op, operands, outputs=3 if op == "LSTM" else 2, **attributes)
