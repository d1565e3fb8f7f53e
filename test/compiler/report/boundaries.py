"""Every boundary between two kernels is explained, on the page as by -Rpass.

    boundaries.py FOLDER ARCH MODEL...

Where a step of the plan reads what another wrote, a missed fusion names nodes of
both; and what -Rpass=fusion and -Rpass-missed=fusion print is on the page.
"""
import json
import os
import re
import subprocess
import sys

FOLDER, ARCH, *MODELS = sys.argv[1:]
os.chdir(FOLDER)


def explains(remark, producer, consumer):
    return (remark["missed"] and set(remark["nodes"]) & set(consumer["nodes"])
            and any(node in remark["text"] for node in producer["nodes"]))


for model in MODELS:
    done = subprocess.run(
        ["fritc", model, f"-march={ARCH}", "--emit=plan", "-o", "plan.mlir", "--report=page.html",
         "-Rpass=fusion", "-Rpass-missed=fusion"], capture_output=True, text=True, check=True)
    with open("page.html") as page:
        data = json.loads(re.search('id="data">(.*)</script>', page.read())[1])
    shown = {(remark["missed"], remark["text"]) for remark in data["remarks"]}
    printed = re.findall(r"^remark: .*?: (not in one kernel.*|\d+ operators in.*|a kernel of its.*) "
                         r"\[-Rpass(-missed)?=fusion\]$", done.stderr, re.MULTILINE)
    assert len(printed) == len(done.stderr.splitlines()), done.stderr
    assert {(missed != "", text) for text, missed in printed} <= shown, done.stderr

    steps = next(each["steps"] for each in data["programs"][0]["lists"] if each["name"] == "main")
    writer, edges = {}, set()
    for index, step in enumerate(steps):
        edges |= {(writer[buffer], index) for buffer in step["reads"] if buffer in writer}
        writer |= dict.fromkeys(step["writes"], index)
    for producer, consumer in edges:
        if not any(explains(r, steps[producer], steps[consumer]) for r in data["remarks"]):
            sys.exit(f"{model}: nothing says why {steps[producer]['nodes']} and "
                     f"{steps[consumer]['nodes']} are two kernels")
    print(f"{os.path.basename(model)}: {len(edges)} boundaries explained")
