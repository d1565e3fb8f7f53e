"""Random choices of graphs and networks."""
from dataclasses import dataclass

import numpy as np


@dataclass
class Draws:
    rng: np.random.Generator

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def integer(self, low: int, high: int) -> int:
        """low <= result < high"""
        return int(self.rng.integers(low, high))

    def one_of(self, *choices):
        return choices[self.integer(0, len(choices))]
