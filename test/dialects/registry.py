"""Every operator of the nn dialect is documented, and has a test that runs it.

Usage: registry.py NN.json TEST_FOLDER, the former from llvm-tblgen --dump-json.
"""
import json
import re
import sys
from pathlib import Path

# Operators without results to compare; test/dialects/nn tests them. This list may only get
# shorter.
WITHOUT_NUMBERS = {"constant", "counted", "fusion", "guard", "yield"}


def main(definitions, tests):
    records = json.loads(Path(definitions).read_text())
    operators = [records[name] for name in records["!instanceof"]["Op"]]
    operators = {r["opName"]: r for r in operators
                 if r["opDialect"]["def"] == "NN_Dialect"}
    numbers = "".join(p.read_text()
                      for p in sorted(Path(tests, "ops").glob("*.py")))
    texts = "".join(p.read_text()
                    for p in sorted(Path(tests, "dialects").rglob("*.mlir")))

    problems = []
    for name, record in operators.items():
        if not re.fullmatch(r"\S.*\.", record["summary"] or "", re.DOTALL):
            problems.append(f"nn.{name} has no summary that is a sentence")
        if name in WITHOUT_NUMBERS:
            if not re.search(rf"\bnn\.{name}\b", texts):
                problems.append(f"nn.{name} is in no file of test/dialects")
        elif f'"{name}"' not in numbers:
            problems.append(f"nn.{name} is in no file of test/ops")
    for name in sorted(WITHOUT_NUMBERS - operators.keys()):
        problems.append(f"nn.{name} is excused, but does not exist")
    print("\n".join(problems) or f"{len(operators)} operators")
    return 1 if problems or not operators else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
