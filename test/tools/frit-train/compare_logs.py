"""Compares the losses of two logs where both have a step: compare_logs.py ONE
OTHER TOLERANCE"""
import json
import sys


def losses(path):
    lines = map(json.loads, open(path))
    return {line["step"]: line["loss"] for line in lines if "loss" in line}


one, other = map(losses, sys.argv[1:3])
common = sorted(one.keys() & other.keys())
assert len(common) > 20, common
worst = max(common, key=lambda step: abs(one[step] - other[step]) / one[step])
print(f"step {worst}: {one[worst]} and {other[worst]}")
assert abs(one[worst] - other[worst]) <= float(sys.argv[3]) * one[worst]
