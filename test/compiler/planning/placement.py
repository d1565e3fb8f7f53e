"""Places the buffers of random networks, and checks their offsets.

Each is a plan in which step i writes one buffer, reads some earlier ones and
has a workspace of its own, as library calls do. No two buffers that are live
at the same time may overlap, and arenas may exceed the peak of live bytes by given factors.
"""
import random
import re
import subprocess


def text(steps):
    """A plan of `steps`: (bytes written, workspace, earlier steps read)."""
    lines = ["plan.target \"sm_90a\" {", 'plan.command_list @main of "main" {']
    for i, (size, work, _) in enumerate(steps):
        lines.append(f"%b{i} = plan.buffer arena : memref<{size}xi8>")
        if work:
            lines.append(f"%w{i} = plan.buffer arena : memref<{work}xi8>")
    for i, (size, work, reads) in enumerate(steps):
        # A copy reads one buffer and writes one, so a step is several.
        pairs = [(f"%b{j}", steps[j][0]) for j in reads]
        if work:
            pairs.append((f"%w{i}", work))
        for name, bytes_ in pairs or [(f"%b{i}", size)]:
            view = f"%v{len(lines)}"
            least = min(bytes_, size)
            lines.append(f"{view} = plan.view {name} : memref<{bytes_}xi8> to memref<{least}xi8>")
            to = f"%v{len(lines)}"
            lines.append(f"{to} = plan.view %b{i} : memref<{size}xi8> to memref<{least}xi8>")
            lines.append(f"plan.copy {view} to {to} : memref<{least}xi8> to memref<{least}xi8>")
    return "\n".join(lines + ["}", "}"])


def place(steps):
    """Returns the arena relative to the bound, after checks."""
    out = subprocess.run(["frit-opt", "--plan-memory"], input=text(steps),
                         capture_output=True, text=True, check=True).stdout
    arena, bound = (int(re.search(rf"{name} = (\d+)", out)[1])
                    for name in ("arena_bytes", "lower_bound"))
    root, live, step = {}, {}, 0
    for line in out.splitlines():
        if m := re.search(r"(%\w+) = plan.buffer +arena at (\d+) : memref<(\d+)xi8>", line):
            root[m[1]] = m[1]
            live[m[1]] = [None, None, int(m[2]), int(m[3])]
        elif m := re.search(r"(%\w+) = plan.view (%\w+)", line):
            root[m[1]] = root[m[2]]
        elif "plan.copy" in line:
            for name in re.findall(r"%\w+", line):
                entry = live[root[name]]
                entry[0] = step if entry[0] is None else entry[0]
                entry[1] = step
            step += 1
    used = [entry for entry in live.values() if entry[0] is not None]
    for i, (first, last, at, size) in enumerate(used):
        assert at % 256 == 0 and at + size <= arena
        for other in used[:i]:
            apart = (last < other[0] or other[1] < first or
                     at + size <= other[2] or other[2] + other[3] <= at)
            assert apart, (used[i], other)
    return arena / bound


def transformer(layers, width, scores, work):
    """Steps as an encoder has them: projections, heads, scores, MLP."""
    steps = [(width, 0, [])]
    for _ in range(layers):
        x = len(steps) - 1
        steps += [(3 * width, work, [x]), (width, 0, [x + 1]),
                  (width, 0, [x + 1]), (width, 0, [x + 1]),
                  (scores, work, [x + 2, x + 3]), (scores, 0, [x + 5]),
                  (width, work, [x + 6, x + 4]), (width, 0, [x + 7]),
                  (width, work, [x + 8]), (width, 0, [x + 9, x]),
                  (4 * width, work, [x + 10]), (4 * width, 0, [x + 11]),
                  (width, work, [x + 12]), (width, 0, [x + 13, x + 10])]
    return steps


def branches(seed, steps):
    """A random network: every step reads some of the last dozen."""
    r = random.Random(seed)
    return [(r.randint(1, 64) << 10, r.choice([0, 1 << 16]),
             r.sample(range(max(0, i - 12), i), min(i, r.randint(1, 3))))
            for i in range(steps)]


def wide(seed, steps):
    """So many buffers live at the same time that pairs are not considered and
    buffers are placed step by step."""
    r = random.Random(seed)
    down = [(r.randint(1, 64) << 10, 0, []) for _ in range(steps)]
    up = [(r.randint(1, 64) << 10, 0, [i]) for i in reversed(range(steps))]
    return down + up


KIB = 1 << 10
assert place(transformer(24, 768 * KIB, 4608 * KIB, 32768 * KIB)) == 1
assert place(transformer(24, 24576 * KIB, 147456 * KIB, 32768 * KIB)) == 1
assert place(transformer(12, 9456 * KIB, 29106 * KIB, 0)) == 1
ratios = [place(branches(seed, 120)) for seed in range(8)]
assert max(ratios) < 1.08 and sum(ratios) / len(ratios) < 1.02, ratios
ratio = place(wide(1, 3000))
assert ratio < 1.1, ratio
