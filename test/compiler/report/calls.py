"""Prints what a page of fritc --report says of calls: calls.py PAGE

A line for each step without a kernel of its own:

    main sm_90a 3 gemm: D = A·B + bias | A 2x64xf32, B 64x10xf32 (stored as 10×64) -> D 2x10xf32 |
    fused bias | precision: f32 operands, f32 sums | 2560 FLOPs | after 2
"""
import json
import re
import sys

with open(sys.argv[1]) as page:
    data = json.loads(re.search('id="data">(.*)</script>', page.read())[1])


def tensors(operands):
    return ", ".join(f"{role} {type}" + (f" ({note})" if note else "") for role, type, note in operands)


for program in data["programs"]:
    for each in program["lists"]:
        for index, step in enumerate(each["steps"]):
            if "call" not in step:
                assert "kernel" in step, step
                continue
            call = step["call"]
            parts = [f"{call['formula']}", f"{tensors(call['operands'])} -> {tensors(call['results'])}",
                     "fused " + ", ".join(call["fused"]), *(f"{name}: {text}" for name, text in call["facts"]),
                     f"{call['flops']} FLOPs", "after " + ", ".join(map(str, step.get("needs", [])))]
            if "guard" in step:
                parts.append(f"in guard {step['guard']}")
            print(f"{program['function']} {program['arch']} {index} {step['kind']}: {' | '.join(parts)}")
