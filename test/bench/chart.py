#!/usr/bin/env python3
"""Draws the rows of a bench's run as an SVG: how fast frit and each peer are.

    chart.py [--precision fp16] RUN... >chart.svg

RUN is what run.py printed, or its JSON lines alone. Every row gets a bar for
each backend; frit's has full length, a peer's its speed relative to frit's.
"""
import argparse
import html
import json
from pathlib import Path

MODELS = {"resnet50": "ResNet-50", "vit-b16": "ViT-B/16",
          "bert-large": "BERT-Large, 384 tokens",
          "gpt3-small": "GPT-3 Small, 1024 tokens"}
BACKENDS = {"frit": "frit", "graph": "torch.compile + CUDA graph",
            "autotune": "torch.compile max-autotune",
            "compile": "torch.compile", "xla": "XLA (JAX)",
            "eager": "PyTorch eager"}

# Pixels.
WIDTH, MARGIN, GAP = 860, 8, 36
TIME = 64  # right of the longest bar
BAR, PITCH = 9, 13
TOP, TITLE, BETWEEN, BOTTOM = 40, 17, 14, 26

STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial,
       sans-serif; fill: #57606a; }
.row { font-weight: 600; fill: #1f2328; }
.best { font-weight: 600; fill: #c2410c; }
.time { font-size: 10.5px; font-variant-numeric: tabular-nums; }
.time.frit { font-weight: 600; fill: #1f2328; }
.note { font-size: 11px; }
rect.frit { fill: #ea580c; }
rect.graph { fill: #2f81c7; }
rect.autotune { fill: #6e57c9; }
rect.compile { fill: #3fa7a0; }
rect.xla { fill: #7fb3dc; }
rect.eager { fill: #aab4be; }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1; }
  .row, .time.frit { fill: #f0f6fc; }
  .best { fill: #fb923c; }
  rect.frit { fill: #f97316; }
  rect.xla { fill: #2a5d8a; }
  rect.graph { fill: #4a9be0; }
  rect.eager { fill: #5b6570; }
}
"""


def read(files: list[Path]) -> list[dict]:
    """The JSON lines, without the table at the end of a run."""
    return [json.loads(line) for file in files
            for line in file.read_text().splitlines()
            if line.startswith("{")]


def times_of(results: list[dict], precision: str) -> dict[str, dict]:
    """Milliseconds by row, then by backend; only rows with a time of frit's."""
    rows: dict[str, dict] = {}
    for result in results:
        if result.get("backend") in BACKENDS and "ms" in result:
            rows.setdefault(result["row"], {})[result["backend"]] = result["ms"]
    return {row: {b: ms[b] for b in BACKENDS if b in ms}
            for row, ms in rows.items()
            if row.split("/")[1] == precision and "frit" in ms}


def digits(number: float, count: int) -> str:
    return f"{number:#.{count}g}".rstrip(".")


def text(x: float, y: float, kind: str, words: str, end: bool = False) -> str:
    anchor = ' text-anchor="end"' if end else ""
    return (f'<text class="{kind}" x="{x:g}" y="{y:g}"{anchor}>'
            f"{html.escape(words)}</text>")


def group(row: str, times: dict[str, float], x: float, y: float,
          width: float) -> list[str]:
    """A title, and under it the row's bars."""
    model, _, batch = row.split("/")
    title = f"{MODELS.get(model, model)}, batch {batch[1:]}"
    parts = [text(x, y + 11, "row", title)]
    peers = [ms for backend, ms in times.items() if backend != "frit"]
    if peers:
        ratio = f"{digits(min(peers) / times['frit'], 2)}× the fastest peer"
        parts.append(text(x + width, y + 11, "best", ratio, end=True))
    y += TITLE
    for backend, ms in times.items():
        length = (width - TIME) * times["frit"] / ms
        parts.append(f'<rect class="{backend}" x="{x:g}" y="{y:g}" rx="1.5" '
                     f'width="{length:.1f}" height="{BAR}"/>')
        parts.append(text(round(x + length + 5, 1), y + BAR - 0.5,
                          f"time {backend}", f"{digits(ms, 3)} ms"))
        y += PITCH
    return parts


def legend(backends: list[str]) -> list[str]:
    parts, x = [], MARGIN
    for backend in backends:
        parts.append(f'<rect class="{backend}" x="{x:g}" y="8" rx="1.5" '
                     f'width="12" height="{BAR}"/>')
        parts.append(text(x + 17, 16.5, "name", BACKENDS[backend]))
        x += 33 + 6.6 * len(BACKENDS[backend])
    return parts


def draw(results: list[dict], precision: str) -> str:
    """Two columns of rows, filled from the top."""
    rows = times_of(results, precision)
    header = next((r for r in results if "gpu" in r), {})
    width = (WIDTH - 2 * MARGIN - GAP) / 2
    heights = [TITLE + PITCH * len(times) + BETWEEN for times in rows.values()]
    left = (len(rows) + 1) // 2
    height = TOP + max(sum(heights[:left]), sum(heights[left:])) + BOTTOM
    shown = [b for b in BACKENDS if any(b in times for times in rows.values())]
    body = legend(shown)
    x, y = MARGIN, TOP
    for i, ((row, times), tall) in enumerate(zip(rows.items(), heights)):
        if i == left:
            x, y = MARGIN + width + GAP, TOP
        body += group(row, times, x, y, width)
        y += tall
    note = ", ".join(str(word) for word in (
        f"{precision} on one {header.get('gpu', 'GPU')}",
        "milliseconds per call, longer bars are faster",
        header.get("date", "")) if word)
    body.append(text(MARGIN, height - 10, "note", note))
    said = "; ".join(f"{row}: " + ", ".join(
        f"{BACKENDS[b]} {ms:g} ms" for b, ms in times.items())
        for row, times in rows.items())
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        f"<title>{html.escape(note)}</title>",
        f"<desc>{html.escape(said)}</desc>",
        f"<style>{STYLE}</style>", *body, "</svg>"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--precision", default="fp16")
    args = parser.parse_args()
    print(draw(read(args.runs), args.precision))


if __name__ == "__main__":
    main()
