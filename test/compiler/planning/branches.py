"""Plans random networks with branches, and checks the memory of concurrent steps.

Each network is a list of elementwise steps that read one or two earlier
results. Two steps without a path between them in the plan may
run concurrently, so neither may access memory that the other
writes. Branches may enlarge an arena by at most 5%.
"""
import random
import re
import subprocess

KERNEL = """plan.kernel @{name} {{
^bb0({arguments}):
  %0 = nn.fusion({names}) : ({types}) -> {type} {{
  ^bb0({inner}):
    %r = nn.{op} {operands} : ({types}) -> {type}
    nn.yield %r : {type}
  }}
}}"""


def kernel(op, reads, size):
    type_ = f"tensor<{size}xf32>"
    names = [f"%{c}" for c in "ab"[:reads]]
    inner = [f"%{c}" for c in "cd"[:reads]]
    return KERNEL.format(
        name=f"{op}_{size}", op=op, type=type_, types=", ".join([type_] * reads),
        names=", ".join(names), operands=", ".join(inner),
        arguments=", ".join(f"{n}: {type_}" for n in names),
        inner=", ".join(f"{n}: {type_}" for n in inner))


def text(steps, size, library):
    """A plan of `steps`, each the earlier steps that it reads; -1 is the input.
    Those in `library` are copies, which never run concurrently."""
    type_ = f"memref<{size}xf32>"
    lines = ['plan.target "sm_90a" {', kernel("relu", 1, size),
             kernel("add", 2, size), 'plan.command_list @main of "main" {',
             f"%b_ = plan.buffer input[0] : {type_}"]
    name = lambda i: "%b_" if i < 0 else f"%b{i}"
    for i, reads in enumerate(steps):
        space = "output[0]" if i == len(steps) - 1 else "arena"
        lines.append(f"%b{i} = plan.buffer {space} : {type_}")
        operands = ", ".join(name(j) for j in reads)
        if i in library:
            lines.append(f"plan.copy {name(reads[0])} to %b{i} : {type_} to {type_}")
        else:
            op = "relu" if len(reads) == 1 else "add"
            types = ", ".join([type_] * len(reads))
            lines.append(f"plan.launch @{op}_{size}({operands}) -> (%b{i}) : {types} -> {type_}")
    return "\n".join(lines + ["}", "}"])


def plan(source, *passes):
    return subprocess.run(["frit-opt", *passes], input=source, check=True,
                          capture_output=True, text=True).stdout


def check(source, steps):
    """Returns the number of concurrent steps, and the arena relative to a chain's."""
    out = plan(source, "--fork", "--check-edges", "--plan-memory")
    chain = plan(source, "--plan-memory")
    arena, bound, was = (int(re.search(rf"{key} = (\d+)", where)[1])
                         for key, where in (("arena_bytes", out),
                                            ("lower_bound", out),
                                            ("arena_bytes", chain)))
    assert bound <= arena
    # Memory that each step reads and writes: (space, first byte, last + 1).
    memory, touched, follows = {}, [], []
    for line in out.splitlines():
        if m := re.search(r"(%\w+) = plan.buffer +(\w+)(?:\[(\d+)\])?(?: at (\d+))? : memref<(\d+)xf32>", line):
            at = int(m[4] or 0)
            memory[m[1]] = (m[2] + (m[3] or ""), at, at + 4 * int(m[5]))
        elif m := re.search(r"plan.copy (%\w+) to (%\w+)(?: \{follows = array<i64(?:: ([\d, ]+))?>\})?", line):
            touched.append(([m[1]], [m[2]]))
            follows.append([int(x) for x in m[3].split(",")] if m[3] else None)
        elif m := re.search(r"plan.launch @\w+\(([^)]*)\) -> \(([^)]*)\)(?: \{follows = array<i64(?:: ([\d, ]+))?>\})?", line):
            touched.append((m[1].split(", "), m[2].split(", ")))
            explicit = "follows" in line
            follows.append([int(x) for x in m[3].split(",")] if m[3] else [] if explicit else None)
    before = []
    for i, others in enumerate(follows):
        ended = set()
        for j in [i - 1] * (i > 0) if others is None else others:
            ended |= {j} | before[j]
        before.append(ended)
    overlap = lambda a, b: a[0] == b[0] and a[1] < b[2] and b[1] < a[2]
    beside = set()
    for i, (reads, writes) in enumerate(touched):
        for j in range(i):
            if j in before[i]:
                continue
            beside |= {i, j}
            other_reads, other_writes = touched[j]
            for w in writes:
                for o in other_reads + other_writes:
                    assert not overlap(memory[w], memory[o]), (i, j)
            for r in reads:
                for o in other_writes:
                    assert not overlap(memory[r], memory[o]), (i, j)
    # Buffers that a step reads were written before, and not overwritten since.
    for i, reads in enumerate(steps):
        for j in reads:
            assert j < 0 or j in before[i], (i, j)
    for i, steps_before in enumerate(before):
        for value in touched[i][0]:
            writer = next((j for j in range(i) if value in touched[j][1]), None)
            if writer is None:
                continue
            for k in steps_before - {writer}:
                for w in touched[k][1]:
                    if overlap(memory[w], memory[value]):
                        assert k in before[writer], (i, k)
    return len(beside), arena / was


def cells(count, branches, depth):
    """Cells of branches that are summed, as in Inception."""
    steps = [[-1]]
    for _ in range(count):
        top, ends = len(steps) - 1, []
        for _ in range(branches):
            last = top
            for _ in range(depth):
                steps.append([last])
                last = len(steps) - 1
            ends.append(last)
        while len(ends) > 1:
            steps.append([ends.pop(), ends.pop()])
            ends.append(len(steps) - 1)
    return steps


def random_network(seed, count):
    r = random.Random(seed)
    steps = [[-1]]
    for i in range(1, count):
        near = range(max(-1, i - 8), i)
        steps.append(r.sample(near, min(len(near), r.randint(1, 2))))
    # The last step reads all results that no other reads.
    return steps, {i for i in range(count - 1) if r.random() < 0.1}


# Early steps that need much memory leave room for branches.
def with_room(steps, room):
    """Prepends a chain of sums with `room` live results."""
    first = [[-1] for _ in range(room)]
    sums = []
    last = 0
    for i in range(1, room):
        sums.append([last, i])
        last = room + len(sums) - 1
    base = room + len(sums)
    moved = [[last if j < 0 else base + j for j in reads] for reads in steps]
    return first + sums + moved


forked = 0
for steps in (cells(4, 2, 1), cells(3, 4, 2), cells(2, 6, 1),
              with_room(cells(4, 2, 1), 8), with_room(cells(3, 4, 2), 16),
              with_room(cells(2, 6, 1), 16)):
    beside, growth = check(text(steps, 1024, set()), steps)
    assert growth < 1.05, growth
    forked += beside
assert forked > 60, forked
for seed in range(30):
    steps, library = random_network(seed, 40)
    for room in (0, 12):
        network = with_room(steps, room) if room else steps
        moved = {i + len(network) - len(steps) for i in library}
        beside, growth = check(text(network, 1024, moved), [
            reads[:1] if i in moved else reads
            for i, reads in enumerate(network)])
        assert growth < 1.05, (seed, growth)
