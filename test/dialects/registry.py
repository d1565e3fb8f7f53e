"""Every operator of the nn dialect is documented, and has a test that compares its values.
Each has a gradient, which a test compares with differences, or a reason not to.

Usage: registry.py NN.json TEST_FOLDER, the former from llvm-tblgen --dump-json.
"""
import json
import re
import runpy
import sys
from pathlib import Path

# Operators without results to compare; test/dialects/nn tests them. This list may only get
# shorter.
WITHOUT_NUMBERS = {"all_gather", "all_reduce", "reduce_scatter", "constant", "counted", "fusion",
                   "guard", "pack", "scan", "state", "yield",
                   # test/custom runs what users define.
                   "custom", "custom_elementwise", "scalar_call"}

# Operators whose results are floats without a gradient. This list may only get shorter.
WITHOUT_GRADIENT = {
    # No operands, or none that are floats.
    "constant", "random_uniform",
    # Removed before training, or made after it.
    "all_gather", "all_reduce", "reduce_scatter", "counted", "fusion", "guard", "pack", "scan",
    "state", "yield", "scalar_call", "update",
    # A gradient itself, which a training step does not differentiate.
    "gelu_grad", "gelu_slope",
}
# What users define; test/custom differentiates it.
USERS_OWN = {"custom", "custom_elementwise"}


def compared(folder):
    """Operators whose values the files of test/ops compare with NumPy's, and those
    whose gradients they compare with differences. A name in a file is not enough:
    an operator needs a case with at least one number."""
    sys.path.insert(0, str(folder))
    import harness
    harness.run = lambda: None
    for file in sorted(folder.glob("*.py")):
        if "\nrun()\n" in file.read_text() and file.name != "harness.py":
            runpy.run_path(str(file))
    return ({op for op, _, expected, *_ in harness.cases if expected.size},
            {op for op, _, _, _, of, _ in harness.gradients if of})


def main(definitions, tests):
    records = json.loads(Path(definitions).read_text())
    operators = [records[name] for name in records["!instanceof"]["Op"]]
    operators = {r["opName"]: r for r in operators
                 if r["opDialect"]["def"] == "NN_Dialect"}
    numbers, gradients = compared(Path(tests, "ops"))
    texts = "".join(p.read_text()
                    for p in sorted(Path(tests, "dialects").rglob("*.mlir")))

    problems = []
    for name, record in operators.items():
        if not re.fullmatch(r"\S.*\.", record["summary"] or "", re.DOTALL):
            problems.append(f"nn.{name} has no summary that is a sentence")
        if name in WITHOUT_NUMBERS:
            if not re.search(rf"\bnn\.{name}\b", texts):
                problems.append(f"nn.{name} is in no file of test/dialects")
        elif name not in numbers:
            problems.append(f"no file of test/ops compares values of nn.{name}")
        if record.get("hasGradient"):
            if name in WITHOUT_GRADIENT:
                problems.append(f"nn.{name} has a gradient, but is said to have none")
            elif name not in USERS_OWN and name not in gradients:
                problems.append(f"no file of test/ops compares the gradient of nn.{name}")
        elif not record.get("discrete") and name not in WITHOUT_GRADIENT:
            problems.append(f"nn.{name} has neither a gradient nor integer results")
    excused = WITHOUT_NUMBERS | WITHOUT_GRADIENT | USERS_OWN
    for name in sorted(excused - operators.keys()):
        problems.append(f"nn.{name} is excused, but does not exist")
    print("\n".join(problems) or f"{len(operators)} operators")
    return 1 if problems or not operators else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
