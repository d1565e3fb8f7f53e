"""Compiles models that decode images in FOLDER, and compares what they give.
Prints the errors of damaged images."""
import pathlib
import struct
import subprocess
import sys
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper

FOLDER = pathlib.Path(sys.argv[1])
generator = np.random.default_rng(3)
HEIGHT, WIDTH = 5, 7
color = generator.integers(0, 256, (HEIGHT, WIDTH, 3)).astype(np.uint8)
gray = np.repeat(color[..., :1], 3, 2)
alpha = np.concatenate([color, color[..., :1]], 2)


def bmp(pixels, from_top=False):
    rows = pixels if from_top else pixels[::-1]
    swapped = rows[..., [2, 1, 0, 3][:pixels.shape[2]]]
    data = b"".join(row.tobytes() + bytes(-row.nbytes % 4) for row in swapped)
    height = -HEIGHT if from_top else HEIGHT
    head = struct.pack("<iiHHIIiiII", WIDTH, height, 1, 8 * pixels.shape[2], 0,
                       len(data), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHII", 54 + len(data), 0, 0, 54, 40) + \
        head + data


def pnm(kind, pixels):
    return b"%s\n# by hand\n%d %d\n255\n" % (kind, WIDTH, HEIGHT) + \
        pixels.tobytes()


def filtered(kind, row, above, step):
    row, above = row.astype(int), above.astype(int)
    left = np.concatenate([np.zeros(step, int), row[:-step]])
    corner = np.concatenate([np.zeros(step, int), above[:-step]])
    guess = left + above - corner
    distances = np.abs(np.stack([guess - left, guess - above, guess - corner]))
    nearest = np.stack([left, above, corner])[distances.argmin(0),
                                              np.arange(len(row))]
    added = [0, left, above, (left + above) // 2, nearest][kind]
    return bytes([kind]) + ((row - added) % 256).astype(np.uint8).tobytes()


def png(kind, pixels, depth=8):
    rows = pixels.reshape(HEIGHT, -1)
    above = np.zeros_like(rows[0])
    data = b""
    for y, row in enumerate(rows):
        data += filtered(y % 5, row, above, pixels.shape[2])
        above = row
    packed = zlib.compress(data)

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + \
            struct.pack(">I", zlib.crc32(name + content))
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + \
        chunk(b"IDAT", packed[:9]) + chunk(b"IDAT", packed[9:]) + \
        chunk(b"IEND", b"")


def write(name, image, pixel_format="RGB"):
    data = helper.make_tensor("data", TensorProto.UINT8, [len(image)], image,
                              raw=True)
    node = helper.make_node("ImageDecoder", ["data"], ["y"], name="decode",
                            pixel_format=pixel_format)
    y = helper.make_tensor_value_info("y", TensorProto.UINT8, [None] * 3)
    onnx.save(helper.make_model(
        helper.make_graph([node], name, [], [y], [data]),
        opset_imports=[helper.make_opsetid("", 20)]), FOLDER / f"{name}.onnx")


IMAGES = {"bmp": (bmp(color), color), "bmp-top": (bmp(alpha, True), color),
          "pgm": (pnm(b"P5", color[..., 0]), gray),
          "ppm": (pnm(b"P6", color), color),
          "png": (png(2, color), color), "png-alpha": (png(6, alpha), color),
          "png-gray": (png(0, color[..., :1]), gray),
          "png-gray-alpha": (png(4, color[..., :2]), gray)}
for name, (image, pixels) in IMAGES.items():
    write(name, image)
    np.savez(FOLDER / f"{name}.npz", y=pixels)
    write(f"damaged-{name}", image[:-20])
    write(f"head-{name}", image[:9])
write("damaged-depth", png(2, color, depth=16))
write("damaged-side", bmp(color).replace(struct.pack("<i", WIDTH), b"\xff" * 4))
write("damaged-jpeg", b"\xff\xd8\xff\xe0")
write("damaged-none", b"\0")
write("format", bmp(color), "CMYK")
write("bgr", bmp(color), "BGR")
np.savez(FOLDER / "bgr.npz", y=color[..., ::-1])
write("gray", bmp(color), "Grayscale")
weights = np.array([19595, 38470, 7471])
np.savez(FOLDER / "gray.npz", y=(((color * weights).sum(2) + 32768) >> 16).astype(
    np.uint8)[..., np.newaxis])

for path in sorted(FOLDER.glob("*.onnx")):
    library, pixels = path.with_suffix(".so"), path.with_suffix(".npz")
    done = subprocess.run(["fritc", "-march=x86-64-v3", path, "-o", library],
                          stderr=subprocess.PIPE, text=True)
    assert (done.returncode == 0) == pixels.exists(), (path, done.stderr)
    print(done.stderr, end="")
    if pixels.exists():
        subprocess.run(["frit-run", library, f"--compare={pixels}"], check=True,
                       stdout=subprocess.DEVNULL)
