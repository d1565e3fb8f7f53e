"""Every attribute of an operator that is a number, a list, a text or a type is verified.

Usage: attributes.py CASES.txt NN.json PLAN.json, the latter from llvm-tblgen --dump-json.

CASES has a valid use of each operator. One after another, its attributes get values that
are wrong for any attribute of their kind, and frit-opt must report an error for each.
"""
import json
import re
import subprocess
import sys
from bisect import bisect_right
from pathlib import Path

# The least 64-bit number stands for an unknown size.
LEAST, MOST = -(1 << 62), (1 << 63) - 1
SCALARS = {"I64Attr", "SI64Attr", "F32Attr", "DenseI64ArrayAttr", "StrAttr", "TypeAttr"}
# Kinds whose class checks what it holds.
CHECKED = {"UnitAttr", "BoolAttr", "ElementsAttr", "SymbolNameAttr", "FlatSymbolRefAttr",
           "ArrayAttr", "DictionaryAttr", "TypeArrayAttr", "StrArrayAttr", "NN_CombinerAttr",
           "NN_CustomAttr", "NN_Schedule", "Plan_ActivationAttr", "Plan_CollectiveAttr",
           "Plan_ConvPassAttr", "Plan_OperandAttr", "Plan_SourceAttr", "Plan_SpaceAttr"}

# Attributes any value of which has a meaning. This list may only get shorter.
ANY = {
    # Names.
    ("nn.constant", "name"), ("plan.buffer", "symbol"), ("plan.command_list", "function"),
    ("plan.function", "name"), ("plan.kernel", "symbol"), ("plan.target", "arch"),
    # The label that stands for none may be any number.
    ("nn.cross_entropy", "ignore_index"), ("nn.cross_entropy_grad", "ignore_index"),
    # A diagonal outside of the matrix is empty.
    ("nn.trilu", "k"),
    # Numbers that kernels take.
    ("plan.kernel", "scalars"),
}
# Sizes without a largest one: only negative ones are wrong. This list may only get
# shorter.
UNBOUNDED = {
    ("nn.counted", "number"), ("nn.custom", "block"), ("nn.custom", "grid"),
    ("nn.custom", "shared_bytes"), ("nn.normalize", "width"),
}


def attributes(definitions, dialect):
    """Operators of the dialect with their attributes of the kinds SCALARS."""
    records = json.loads(Path(definitions).read_text())
    for name in records["!instanceof"]["Op"]:
        operator = records[name]
        if operator["opDialect"]["def"] != dialect:
            continue
        prefix = operator["opDialect"]["def"].split("_")[0].lower()
        for argument, attribute in operator["arguments"]["args"]:
            record = records[argument["def"]]
            if "Attr" not in record["!superclasses"]:
                continue
            while record.get("baseAttr"):
                record = records[record["baseAttr"]["def"]]
            kind = record["!name"]
            if "TypeAttrBase" in record["!superclasses"]:
                kind = "TypeAttr"
            is_list = "TypedArrayAttrBase" in record["!superclasses"]
            if kind not in CHECKED and not is_list:
                assert kind in SCALARS, f"{kind} is an unknown kind of attribute"
                yield f"{prefix}.{operator['opName']}", attribute


def wrong_values(value):
    """Values of the kind of `value` that are wrong, or None if it has none."""
    if number := re.fullmatch(r"-?\d+ : (s?i64)", value):
        return [f"{LEAST} : {number[1]}", f"{MOST} : {number[1]}"]
    if re.fullmatch(r"[-+.\deE]+ : f32", value):
        return ["0x7FC00000 : f32"]
    if numbers := re.fullmatch(r"array<i64(?:: (.*))?>", value):
        rest = (numbers[1] or "0").split(", ")[1:]
        return [f"array<i64: {', '.join([str(first), *rest])}>" for first in (LEAST, MOST)]
    if value.startswith('"'):
        return ['"?"']
    if re.fullmatch(r"[sui]*[fi]\d+|tensor<[^>]*>", value):
        return ["none"]
    return None


def uses(text):
    """Operators of the text, each with its attributes' names, values and places."""
    for use in re.finditer(r'"((?:nn|plan)\.\w+)"\([^)]*\)(?: <\{| \[.*?\] <\{)', text):
        at, depth, start = use.end(), 0, use.end()
        quoted = False
        while depth >= 0:
            c = text[at]
            if c == '"':
                quoted = not quoted
            if not quoted and text[at - 1] != "-":
                depth += (c in "<{[(") - (c in ">}])")
            if not quoted and (depth < 0 or depth == 0 and c == ","):
                name, _, value = text[start:at].strip().partition(" = ")
                if value:
                    yield use[1], name, value, at - len(value)
                start = at + 1
            at += 1


def run(text):
    return subprocess.run(["frit-opt", "--split-input-file", "-"], input=text,
                          capture_output=True, text=True)


def main(cases, nn, plan):
    expected = {*attributes(nn, "NN_Dialect"), *attributes(plan, "Plan_Dialect")}
    text = subprocess.run(["frit-opt", "--mlir-print-op-generic", cases], check=True,
                          capture_output=True, text=True).stdout
    mutants = []
    for operator, name, value, at in uses(text):
        if (operator, name) in expected:
            for wrong in wrong_values(value) or []:
                mutants.append((operator, name, wrong,
                                text[:at] + wrong + text[at + len(value):]))
    problems = [f"{operator} has no {name} in {cases}" for operator, name in sorted(
        expected - {mutant[:2] for mutant in mutants})]
    starts, line = [], 1
    for mutant in mutants:
        starts.append(line)
        line += mutant[3].count("\n") + 2
    done = run("// -----\n".join(mutant[3] + "\n" for mutant in mutants))
    if done.returncode != 1:
        problems.append(f"frit-opt ended with {done.returncode}: {done.stderr[-2000:]}")
    refused = {bisect_right(starts, int(line)) - 1 for line in
               re.findall(r"^<stdin>:(\d+):\d+: error", done.stderr, re.MULTILINE)}
    for index, (operator, name, wrong, _) in enumerate(mutants):
        # What is large in a plan, runtime/plan refuses.
        is_large = str(MOST) in wrong and (
            operator.startswith("plan.") or (operator, name) in UNBOUNDED)
        if index not in refused and (operator, name) not in ANY and not is_large:
            problems.append(f"{operator} takes any {name}, as {wrong}")
    for operator, name in sorted((ANY | UNBOUNDED) - expected):
        problems.append(f"{operator} has no {name}, which is excused")
    print("\n".join(problems) or f"{len(mutants)} wrong values of {len(expected)} attributes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
