"""Writes the images of image_test.cpp, and what PIL makes of them: make.py

`color` and `gray` of expected.npz are torchvision's Resize(24), or Resize(7),
and CenterCrop: PIL's bilinear filter with the shorter side as given, for
rows x columns of 24 x 16 and 7 x 7. Needs Pillow.
"""
from pathlib import Path

import numpy as np
from PIL import Image

folder = Path(__file__).parent
random = np.random.default_rng(0)


def picture(height, width, channels):
    """Smooth, so that JPEG changes it little, and with a sharp edge."""
    y, x = np.mgrid[:height, :width]
    waves = [127 + 80 * np.sin(x / (3 + c) + c) * np.cos(y / (4 + c)) for c in range(channels)]
    pixels = np.stack(waves, -1) + random.normal(0, 4, (height, width, channels))
    pixels[height // 3:, width // 2:] *= 0.6
    return np.clip(pixels, 0, 255).astype(np.uint8)


def fit(image, rows, columns):
    high, wide = image.height, image.width
    if wide * rows >= columns * high:
        size = rows * wide // high, rows
    else:
        size = columns, columns * high // wide
    image = image.resize(size, Image.BILINEAR)
    left, top = (round((s - n) / 2) for s, n in zip(size, (columns, rows)))
    return np.asarray(image.crop((left, top, left + columns, top + rows)))


for name, image, options in [
        ("large.jpg", Image.fromarray(picture(61, 97, 3)), {"quality": 90}),
        ("progressive.JPEG", Image.fromarray(picture(50, 33, 3)), {"format": "jpeg", "progressive": True}),
        ("gray.jpg", Image.fromarray(picture(40, 45, 1)[..., 0]), {}),
        ("small.png", Image.fromarray(picture(9, 5, 3)), {}),
        ("exact.png", Image.fromarray(picture(24, 16, 3)), {}),
        ("clear.png", Image.fromarray(picture(30, 31, 4)), {}),
        ("palette.png", Image.fromarray(picture(26, 40, 3)).quantize(16), {}),
        ("gray.png", Image.fromarray(picture(32, 16, 1)[..., 0]), {}),
        ("cmyk.jpg", Image.fromarray(picture(16, 16, 3)).convert("CMYK"), {})]:
    image.save(folder / name, **options)
names = sorted(p.name for p in folder.iterdir() if p.suffix.lower() in (".jpg", ".jpeg", ".png") and p.stem != "cmyk")
images = [Image.open(folder / name).convert("RGB") for name in names]
np.savez_compressed(folder / "expected.npz", names=names, color=[fit(i, 24, 16) for i in images],
                    gray=[fit(i.convert("L"), 7, 7) for i in images])
