# RUN: %python %s
"""Activations."""
import math

import numpy as np

from harness import case, random, run

x = np.concatenate([random(30, low=-4, high=4), [0, -0.0, 20, -20, 88]]) \
      .astype(np.float32)
far = np.array([-200, 200], np.float32)
wide = x.astype(np.float64)
sigmoid = 1 / (1 + np.exp(-wide))
softplus = np.log1p(np.exp(wide))
erf = np.vectorize(math.erf)


def check(op, expected, attributes=""):
    for dtype in (np.float32, np.float16):
        case(op, [x.astype(dtype)], expected.astype(dtype), attributes,
             4e-3 if dtype == np.float16 else None)


check("relu", np.maximum(wide, 0))
case("relu", [np.array([-3, 4], np.int32)], np.array([0, 4], np.int32))
case("relu", [np.array([np.nan], np.float32)], np.array([np.nan], np.float32))
check("sigmoid", sigmoid)
case("sigmoid", [far], np.array([0, 1], np.float32))
check("silu", wide * sigmoid)
check("softplus", softplus)
case("softplus", [far], np.array([0, 200], np.float32))
check("mish", wide * np.tanh(softplus))
check("softsign", wide / (1 + abs(wide)))
check("hard_swish", wide * np.clip(wide / 6 + 0.5, 0, 1))
check("leaky_relu", np.where(wide < 0, 0.01 * wide, wide))
check("leaky_relu", np.where(wide < 0, 0.3 * wide, wide),
      "alpha = 0.3 : f32")
check("elu", np.where(wide < 0, np.expm1(wide), wide))
check("elu", np.where(wide < 0, 0.5 * np.expm1(wide), wide),
      "alpha = 0.5 : f32")
check("selu", 1.0507009873554805 *
      np.where(wide > 0, wide, 1.6732632423543772 * np.expm1(wide)))
check("hard_sigmoid", np.clip(0.2 * wide + 0.5, 0, 1))
check("hard_sigmoid", np.clip(0.25 * wide + 0.4, 0, 1),
      "alpha = 0.25 : f32, beta = 0.4 : f32")
check("gelu", 0.5 * wide * (1 + erf(wide / math.sqrt(2))))
check("gelu", 0.5 * wide * (1 + np.tanh(
    math.sqrt(2 / math.pi) * (wide + 0.044715 * wide ** 3))),
    'approximate = "tanh"')

# Pairs of values and gates: eight of sixteen columns, the even results first.
gates = random(2, 3, 32, low=-4, high=4)
pairs = gates.astype(np.float64).reshape(2, 3, 2, 8, 2)[..., [0, 4, 1, 5, 2, 6, 3, 7], :]
value, gate = (pairs[..., i].reshape(2, 3, 16) for i in range(2))
for name, gated in (("silu", gate / (1 + np.exp(-gate))),
                    ("gelu", 0.5 * gate * (1 + erf(gate / math.sqrt(2)))),
                    ("gelu_tanh", 0.5 * gate * (1 + np.tanh(
                        math.sqrt(2 / math.pi) * (gate + 0.044715 * gate ** 3))))):
    case("gate_columns", [gates], (value * gated).astype(np.float32),
         f'activation = "{name}"')
run()
