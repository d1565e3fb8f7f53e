# RUN: %python %s
"""Losses."""
import numpy as np

from harness import case, random, run


def cross_entropy(x, labels, dy, ignored=-100, smoothing=0.0):
    """Returns the loss of every row, and the gradient of their sum by dy."""
    x = x.astype(np.float64)
    z = x - x.max(1, keepdims=True)
    logs = z - np.log(np.exp(z).sum(1, keepdims=True))
    columns = np.arange(x.shape[1])
    target = np.where(columns == labels[:, None], 1 - smoothing, 0)
    target = target + smoothing / x.shape[1]
    with np.errstate(invalid="ignore"):
        loss = -np.where(target == 0, 0, logs * target)
    loss = loss.sum(1)
    gradient = (np.exp(logs) - target) * dy[:, None]
    bad = (labels < 0) | (labels >= x.shape[1])
    loss, gradient = np.where(bad, np.nan, loss), np.where(
        bad[:, None], np.nan, gradient)
    skipped = labels == ignored
    return (np.where(skipped, 0, loss),
            np.where(skipped[:, None], 0, gradient))


def check(x, labels, ignored=-100, smoothing=0.0):
    wide = np.float64 if x.dtype == np.float64 else np.float32
    dy = random(len(x), seed=5).astype(wide)
    labels = np.array(labels, np.int64)
    loss, gradient = cross_entropy(x, labels, dy, ignored, smoothing)
    flags = (f"ignore_index = {ignored} : si64, "
             f"label_smoothing = {smoothing} : f32")
    case("cross_entropy", [x, labels], loss.astype(wide), flags)
    case("cross_entropy_grad", [x, labels, dy], gradient.astype(x.dtype), flags)


for dtype in (np.float64, np.float32, np.float16):
    x = random(5, 7, seed=1).astype(dtype)
    check(x, [0, 6, 3, 3, 1])
    check(x, [0, -100, 3, -100, 1], smoothing=0.125)
    check(x, [2, 0, 2, 5, 6], ignored=2)
    # Labels that are no classes.
    check(x, [-1, 7, 3, 2 ** 62, -2 ** 62])
    check((x * 20000 if dtype != np.float16 else x * 10000).astype(dtype),
          [0, 1, 2, 3, 4])
check(random(3, 1), [0, 1, -100])
# A class that is ruled out, and a row that is.
far = random(3, 4)
far[0, 1] = far[1, 0] = -np.inf
check(far, [0, 3, 1])
case("cross_entropy", [far, np.array([1, 0, 0])],
     cross_entropy(far, np.array([1, 0, 0]), np.ones(3))[0].astype(np.float32))
far = far.copy()
far[2] = np.inf
case("cross_entropy_grad", [far, np.array([0, 1, 4]), random(3)],
     np.where([[True], [True], [False]],
              cross_entropy(far[:2].repeat([1, 2], 0), np.array([0, 1, 4]),
                            random(3), 4)[1], 0).astype(np.float32),
     "ignore_index = 4 : si64")

x = np.concatenate([random(30, low=-4), [0, 30, -30, 80, -80, 1e4, -1e4]])
t = np.concatenate([random(30, low=0, high=1), [0.5, 1, 0, 0.25, 0.75, 1, 0]])
y = np.maximum(x, 0) - x * t + np.log1p(np.exp(-abs(x)))
for dtype in (np.float64, np.float32, np.float16):
    case("bce_with_logits", [x.astype(dtype), t.astype(dtype)],
         y.astype(dtype),
         tolerance=1e-2 if dtype == np.float16 else None)
x = np.concatenate([random(6, low=-3), [1e4, 1000.25]])
t = np.concatenate([random(6, low=-3, seed=1), [1e4 + 1, 1000.5]])
for dtype in (np.float64, np.float32):
    case("squared_error", [x.astype(dtype), t.astype(dtype)],
         (x.astype(dtype) - t.astype(dtype)) ** 2)
run()
