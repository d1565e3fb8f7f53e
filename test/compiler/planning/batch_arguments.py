"""Prints a plan that launches a kernel of many inputs several times.

    batch_arguments.py INPUTS LAUNCHES
"""
import sys

inputs, launches = map(int, sys.argv[1:])
rows, sums = "tensor<64x8xf32>", "tensor<1x8xf32>"


def many(kind):
    return ", ".join([kind] * inputs)


def names(letter):
    return ", ".join(f"%{letter}{i}: {rows}" for i in range(inputs))


print(f"""plan.target "sm_90a" {{
  plan.kernel @sums {{
  ^bb0({names("a")}):
    %s:{inputs} = nn.fusion({", ".join(f"%a{i}" for i in range(inputs))}) schedule(#cuda.column<team = 8, vector = 1, threads = 256>) : ({many(rows)}) -> ({many(sums)}) {{
    ^bb0({names("b")}):""")
for i in range(inputs):
    print(f"      %r{i} = nn.reduce %b{i} {{axes = array<i64: 0>, "
          f"kind = #nn<combiner sum>}} : ({rows}) -> {sums}")
print(f"""      nn.yield {", ".join(f"%r{i}" for i in range(inputs))} : {many(sums)}
    }}
  }}
  plan.command_list @main of "main" {{
    %x = plan.buffer input[0] : memref<64x8xf32>""")
buffers = 0
for launch in range(launches):
    results = []
    for _ in range(inputs):
        print(f"    %y{buffers} = plan.buffer output[{buffers}] : memref<1x8xf32>")
        results.append(f"%y{buffers}")
        buffers += 1
    print(f"    plan.launch @sums({many('%x')}) -> ({', '.join(results)}) : "
          f"{many('memref<64x8xf32>')} -> {many('memref<1x8xf32>')}")
print("  }\n}")
