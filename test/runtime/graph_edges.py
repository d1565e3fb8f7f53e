"""Compares the edges of a function's CUDA graph with those in its plan.

    graph_edges.py PLAN.mlir FUNCTION EDGES.txt

EDGES.txt is what graph_edges prints. The plan has no guards, and all its library
calls run on their fallback kernels, as where there are no libraries.
"""
import pathlib
import re
import sys

plan, function, printed = sys.argv[1:]
text = pathlib.Path(plan).read_text()
waits = {m[1]: "waits}" in m[0] or "waits," in m[0]
         for m in re.finditer(r"plan\.kernel @(\w+).*", text)}
body = text.split(f"plan.command_list @{function} ")[1].split("plan.command_list")[0]

# Per step: its kind, its kernel and the steps that it follows.
steps = []
for line in body.splitlines():
    step = re.match(r" *plan\.(\w+)", line)
    if not step or step[1] in ("buffer", "view"):
        continue
    kernel = re.search(r"@(\w+)\(", line)
    listed = re.search(r"follows = array<i64(?:: ([\d, ]+))?>", line)
    follows = ([len(steps) - 1] if steps else []) if not listed else [
        int(place) for place in (listed[1] or "").split(",") if place]
    steps.append((step[1], kernel and kernel[1], follows))


def edges(has_group):
    """What the plan says: (to, from, "full" or "ahead") for each edge."""
    found, ends, count = set(), [], 0
    for kind, kernel, follows in steps:
        before = set()
        for other in follows:
            if has_group or kind != "await" or steps[other][0] != "collective":
                before |= ends[other]
        if kind == "await" or (kind == "collective" and not has_group):
            ends.append(before)
            continue
        count += 1
        for node, own in before:
            is_ahead = own and kernel and waits[kernel]
            found.add((count, node, "ahead" if is_ahead else "full"))
        ends.append({(count, bool(kernel))})
    return found


graphs = re.split(r"^(alone|in a group): \d+ edges\n",
                  pathlib.Path(printed).read_text(), flags=re.M)
assert graphs[1::2] == ["alone", "in a group"], graphs
for title, lines in zip(graphs[1::2], graphs[2::2]):
    made = [(int(m[2]), int(m[1]), m[3]) for m in
            re.finditer(r"(\d+) -> (\d+) (\w+)", lines)]
    wanted = edges(title == "in a group")
    assert len(made) == len(set(made)), "an edge is there twice"
    assert set(made) == wanted, (title, sorted(set(made) ^ wanted))
    joins = sum(len({e for e in made if e[0] == to}) > 1 for to in {e[0] for e in made})
    print(f"{title}: {len(made)} edges, {joins} joins")
