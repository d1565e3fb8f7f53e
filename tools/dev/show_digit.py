#!/usr/bin/env python3
"""Draws a digit next to the probabilities that a model computed for it.

    show_digit.py IMAGE.npy SCORES.npy
    show_digit.py --pick DIGIT COUNT DATA.safetensors IMAGES.npy

SCORES are probabilities, or logits, of a batch whose first image is drawn. With
--pick, writes a batch of COUNT images of DATA instead, the first of which is one
of DIGIT by DATA's labels.
"""
import sys

import numpy as np
from safetensors.numpy import load_file

SHADES = " ░▒▓█"
EIGHTHS = " ▏▎▍▌▋▊▉█"
WIDTH = 24


def picture(image: np.ndarray) -> list[str]:
    """One line per row; two characters per pixel make it about square."""
    levels = np.rint(image / image.max() * (len(SHADES) - 1)).astype(int)
    return ["".join(2 * SHADES[level] for level in row) for row in levels]


def bar(share: float) -> str:
    full, rest = divmod(round(share * WIDTH * 8), 8)
    return ("█" * full + EIGHTHS[rest]).strip()


def pick(digit: str, count: str, data: str, images: str) -> None:
    digits = load_file(data)
    first = np.flatnonzero(digits["labels"] == int(digit))[0]
    batch = np.roll(digits["image"], -first, axis=0)[:int(count)]
    np.save(images, batch.astype(np.float32))


def show(image_file: str, scores_file: str) -> None:
    image, scores = np.load(image_file), np.load(scores_file)
    scores = scores.reshape(-1, scores.shape[-1])[0]
    if scores.min() < 0 or scores.sum() > 1.01:
        scores = np.exp(scores - scores.max())
        scores /= scores.sum()
    best = int(scores.argmax())
    left = picture(image.reshape(-1, *image.shape[-2:])[0])
    edge = "─" * len(left[0])
    left = [f"┌{edge}┐", *(f"│{row}│" for row in left), f"└{edge}┘"]
    for digit, (row, score) in enumerate(zip(left, scores)):
        mark = "  ◀" if digit == best else ""
        print(f"  {row}   {digit} {bar(score):{WIDTH}} {score:7.2%}{mark}")
    print(f"\n  The model says {best}.")


def main() -> None:
    sys.stdout.reconfigure(encoding="utf-8")
    if sys.argv[1:2] == ["--pick"]:
        pick(*sys.argv[2:])
    else:
        show(*sys.argv[1:])


if __name__ == "__main__":
    main()
