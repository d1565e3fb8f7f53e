"""Attention that appends to its caches: appends.py WORK NAME... on the emulator, as on the CPU."""
import re
import sys
from pathlib import Path

import folders
from emulated import emulate

# So many keys that one block would read them too slowly.
CONTEXT = 300

work = Path(sys.argv[1])
for name in sys.argv[2:]:
    folder = folders.make(work, name)
    for batch, precision in ((1, "fp32"), (3, "fp16")) if name == "llama" else ((2, "fp32"),):
        print(name, batch, precision, end=": ")
        text = emulate(folder, ["prefill", "decode"], f"--context={CONTEXT}", f"--batch={batch}",
                       "-fshape=chunk=1,3", f"-fprecision={precision}",
                       rtol="1e-3" if precision == "fp32" else "1e-2")
        appended = re.findall(r"computesQueries = (\w+);\n.* appended = (\d+);\n.* early = (\w+);",
                              text)
        print(name, *sorted(f"{rows} computed={computed} early={early}"
                            for computed, rows, early in set(appended)), sep=", ")
