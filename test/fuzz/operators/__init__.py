"""Operators of random graphs."""
from . import (attention, contraction, control, counted, elementwise,  # noqa: F401
               indexing, integers, known, movement, normalization,
               quantization, recurrent, reduction, rows, sampling, sequence,
               training, window)
from .table import OPERATORS  # noqa: F401
