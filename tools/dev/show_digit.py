#!/usr/bin/env python3
"""Draws a digit next to the probabilities that a model computed for it.

    show_digit.py IMAGE.npy PROBABILITIES.npy
"""
import sys

import numpy as np

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


def main() -> None:
    sys.stdout.reconfigure(encoding="utf-8")
    image, scores = (np.load(path) for path in sys.argv[1:3])
    scores = scores.reshape(-1)
    best = int(scores.argmax())
    left = picture(image.reshape(image.shape[-2:]))
    edge = "─" * len(left[0])
    left = [f"┌{edge}┐", *(f"│{row}│" for row in left), f"└{edge}┘"]
    for digit, (row, score) in enumerate(zip(left, scores)):
        mark = "  ◀" if digit == best else ""
        print(f"  {row}   {digit} {bar(score):{WIDTH}} {score:7.2%}{mark}")
    print(f"\n  The model says {best}.")


if __name__ == "__main__":
    main()
