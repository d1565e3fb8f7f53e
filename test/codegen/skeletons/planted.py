#!/usr/bin/env python3
"""Plants faults in copies of the device headers; the checks must find each.

Usage: planted.py [--part | NAME...]

Without names all faults are planted, with --part those of some checks.

Every fault replaces a text that occurs once. The checks, with FRIT_FEW_CHECKS,
must pass with the headers as they are, and fail under the emulator with each
fault in the way that is written beside it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.append(str(ROOT / "test"))
import parts  # noqa: E402

HEADERS = sorted((ROOT / "codegen" / "cuda").glob("*/*.cuh"))
INCLUDES = [f"-I{folder}" for folder in
            (ROOT / "test" / "emulator", ROOT / "runtime" / "include", HERE)]
COMPILER = [os.environ.get("CXX", "clang++-22"), "-std=c++20", "-O0", "-w",
            "-Wno-psabi", "-DFRIT_EMULATE=90", "-DFRIT_FEW_CHECKS",
            "-fno-strict-aliasing"]
# Headers without planted faults are compiled once.
COMMON = """#include "frit/norm.cuh"
#include "frit/mma.cuh"
#include "frit/tile.cuh"
#include "emulated_tma.h"
#include "products.h"
#include "harness.h"
"""

WRONG = r"FAIL .*: element \d+ is -?"
DEADLOCK = r"deadlock: what a thread waits for never comes"
APART = r"a lane acted alone, and its warp did not synchronize"
EARLY = r"more arrivals than a barrier's phase has"
# Faults, by the check that must find them.
FAULTS = {"wgmma_gemm": {
    # name: (header, text, instead, what the check prints)
    "descriptor: 8 lines, off by one":
        ("wgmma.cuh", "uint64_t(8 * LineBytes / 16) << 32",
         "uint64_t(8 * LineBytes / 16 + 1) << 32", WRONG),
    "descriptor: 64 columns, off by one":
        ("wgmma.cuh", "uint64_t(lines) * 128 / 16",
         "uint64_t(lines) * 128 / 16 + 1", WRONG),
    "descriptor: wrong swizzle":
        ("wgmma.cuh", "LineBytes == 128  ? 1", "LineBytes == 128  ? 2",
         r"a descriptor of a kind that is not emulated"),
    "box: no swizzle":
        ("wgmma.cuh", "(piece ^ (line & 7)) * 16", "piece * 16", WRONG),
    "no wait for operands":
        ("wgmma_tile.cuh", "      full[place.stage].wait(place.parity);\n", "",
         EARLY),
    "no wait for the residual":
        ("wgmma_epilogue.cuh",
         "        filled[(slot + b) % Plan::kSlots].wait((slot + b) / "
         "Plan::kSlots % 2);\n", "        ;\n", WRONG + "nan"),
    "no wait for a free stage":
        ("wgmma_tile.cuh",
         "          empty[place.stage].wait(place.parity ^ 1);\n", "",
         EARLY),
    "no wait for products":
        ("wgmma_tile.cuh", "    waitProducts<0>();\n", "", WRONG + "nan"),
    "a stage given back too early":
        ("wgmma_tile.cuh", "        release(last);\n      last = place.stage;",
         "        release(place.stage);\n      last = place.stage;", WRONG),
    "no wait for stores":
        ("wgmma_epilogue.cuh", "    waitStores<0>();\n    filled", "    filled",
         r"shared memory changed while a tensor copy read it"),
    "too few bytes expected":
        ("wgmma_tile.cuh",
         "(hasB ? Plan::kBytesA : Plan::kStageBytes);",
         "((hasB ? Plan::kBytesA : Plan::kStageBytes) - 128);",
         DEADLOCK),
    "no fence before products":
        ("wgmma_tile.cuh", "      fenceProducts();\n", "",
         r"a group of products begins without a fence"),
    "boxes: a warp reads them without the lane that sent the last ones":
        ("wgmma_epilogue.cuh",
         "may not wait for this lane by itself.\n      __syncwarp();\n",
         "may not wait for this lane by itself.\n", APART),
    "no fence before stores":
        ("wgmma_epilogue.cuh", "      fenceAsync();\n", "",
         r"is not fenced for the copy engine"),
    "cluster: a stage given back to one block":
        ("wgmma_tile.cuh", "block < P::cluster; ++block)",
         "block < 1; ++block)", DEADLOCK),
    "split-K: the share of another block":
        ("wgmma_split.cuh", "int steps = (rank - owner + P::split)",
         "int steps = (rank - owner + 1 + P::split)", WRONG),
    "split-K: shares of the rows beside":
        ("wgmma_split.cuh", "owner * P::cluster + rows;",
         "owner * P::cluster + P::cluster - 1 - rows;",
         f"{WRONG}|{EARLY}|{DEADLOCK}"),
    "split-K: no wait for shares":
        ("wgmma_split.cuh", "    arrived[slotOf(part)].wait(0);\n", "", WRONG),
    "dot products: of another row":
        ("wgmma_epilogue.cuh", "reducedRows[b / 2][b % 2].store",
         "reducedRows[b / 2][1 - b % 2].store",
         r"FAIL .*, dot products of rows: element \d+ is "),
    "gates: neighbours change places":
        ("wgmma_epilogue.cuh", "values[b][h][half] = pair[0];",
         "values[b][h][1 - half] = pair[0];", WRONG),
    "ping-pong: no wait for the other warpgroup":
        ("wgmma_tile.cuh",
         "          block.order[group].wait((group + ++ownTiles) % 2);\n",
         "          ;\n", EARLY),
    "ping-pong: the other warpgroup's steps not skipped":
        ("wgmma_tile.cuh",
         "        place.skip((Plan::kTilesInFlight - 1) * Operands::steps);\n", "",
         f"{WRONG}|{EARLY}|{DEADLOCK}"),
}, "wgmma_gemm_pair": {
    "pair: the matrices change places":
        ("wgmma_gemm.cuh", "i % 128 ? mapPaired : this->mapB",
         "i % 128 ? this->mapB : mapPaired", WRONG),
    "pair: columns of the next box":
        ("wgmma_gemm.cuh", "tile.n / 2 + i / 128 * 64",
         "tile.n / 2 + i / 64 * 64", WRONG),
    "pair: both blocks bring the same boxes":
        ("wgmma_gemm.cuh",
         "if (P::cluster > 1 && i / 64 % P::cluster != rowsOfBlock<P>(rank))",
         "if (P::cluster > 1 && i / 64 % P::cluster != 0)",
         f"{WRONG}|{EARLY}|{DEADLOCK}"),
    "pair: another column of the other matrix":
        ("wgmma_epilogue.cuh", "sums.pair(row + b, group + kGroups, h)",
         "sums.pair(row + b, group + kGroups, 1 - h)", WRONG),
}, "fragment": {
    "fragment: sums of another group":
        ("wgmma_epilogue.cuh", "sums.pair(row + b, firstGroup + group, h);\n"
         "          if constexpr", "sums.pair(row + b, firstGroup + j, h);\n"
         "          if constexpr", WRONG),
    "without TMA: the residual of another row":
        ("wgmma_pairs.cuh", "(at.m + row) * P::ldd", "(at.m + row / 2) * P::ldd",
         WRONG),
    "without TMA: elements in another row":
        ("wgmma_pairs.cuh", "first[row * P::ldd + col] =",
         "first[(row ^ 1) * P::ldd + col] =", WRONG),
}, "integer_gemm": {
    "bytes: no swizzle":
        ("integer_mma.cuh", "(piece ^ swizzle)", "piece", WRONG),
    "bytes: filters dealt out in another order":
        ("integer_tile.cuh", "matrix * 2 + column % 2;",
         "matrix * 2 + 1 - column % 2;", WRONG),
    "bytes: no wait for copies":
        ("integer_gemm.cuh", "      waitCopies<kDistance - 1>();\n", "", WRONG),
    "bytes: no wait for copies before WGMMA":
        ("integer_wgmma.cuh", "    waitCopies<P::stages - 3>();\n", "", WRONG),
    "bytes: padding of 0":
        ("integer_gemm.cuh", "if (place < 0 && fill)", "if (false)", WRONG),
    "bytes: signed ones in a sum of two":
        ("byte_numbers.cuh",
         "return unsignedTiny(ByteOf{byte.word ^ 0x80808080, byte.at}, ",
         "return unsignedTiny(byte, ", "sums of bytes are rounded otherwise"),
    "bytes: a sum of two by another factor":
        ("byte_numbers.cuh", "scale * kTinyFactor, tiny);",
         "2 * scale * kTinyFactor, tiny);",
         "sums of bytes are rounded otherwise"),
}, "float8_gemm": {
    "floats: fragments of another format":
        ("integer_tile.cuh", "mmaFloats<P::floatX, P::floatW>",
         "mmaFloats<P::floatW, P::floatX>", WRONG),
    "floats: sums of one group of warps":
        ("integer_tile.cuh", "(&of[0][0][0])[i] += slot(from, i);", ";", WRONG),
}, "integer_clusters": {
    "bytes: no wait for the cluster":
        ("integer_tile.cuh", """    arriveCluster();
    waitCluster();
    if (!isFirst)""", "    if (!isFirst)", WRONG),
}, "wgmma_conv": {
    "descriptor: wrong swizzle of short lines":
        ("wgmma.cuh", "LineBytes == 64 ? 2", "LineBytes == 64 ? 1",
         WRONG),
    "im2col: one tap on":
        ("wgmma_conv.cuh", "tap % P::s * P::dilationW",
         "(tap + 1) % P::s * P::dilationW", WRONG),
}, "wgmma_bytes": {
    "bytes by TMA: the next filters":
        ("wgmma_bytes.cuh", "at, 0, 0, 0, tile.n / 32);",
         "at, 0, 0, 0, tile.n / 32 + 1);", WRONG),
    "bytes by TMA: sums of another matrix":
        ("byte_store.cuh", "part * kCount + j, c / 2)",
         "part * kCount + (j ^ 1), c / 2)", WRONG),
    "bytes by TMA: one tap on":
        ("wgmma_bytes.cuh", "tap % s * P::dilationW",
         "(tap + 1) % s * P::dilationW", WRONG),
    "bytes by TMA: columns of the first tile":
        ("integer_end.cuh", "problem.columns(first + i * P::kVector);",
         "problem.columns(i * P::kVector);", WRONG),
    "bytes by TMA: rows of a box":
        ("byte_store.cuh", "row = step % 2 * 8 + threadIdx.x % 32 / 4;",
         "row = threadIdx.x % 32 / 4;", WRONG),
    "two products of bytes: codes of another row":
        ("byte_store.cuh", "elements.first = of[step];",
         "elements.first = of[step ^ 1];", WRONG),
    "two products of bytes: one sum of both":
        ("wgmma_tile.cuh", "i > 0 || step > first);",
         "i > 0 || step > firstStep);", WRONG),
}, "byte_rows": {
    "rows of bytes: the row of the next tap":
        ("byte_rows.cuh", "(i * 32 / kTaps * Block::kRowBytes",
         "((i * 32 + 32) / kTaps * Block::kRowBytes", WRONG),
    "rows of bytes: released before they are multiplied":
        ("byte_rows.cuh", "    waitProducts<0>();\n", "", WRONG),
    "rows of bytes: the second group's pixels":
        ("byte_rows.cuh", "strip * ByteRowsLayout::pixels * P::c",
         "tileRow * ByteRowsLayout::pixels * P::c", WRONG),
}, "byte_chain": {
    "chain of bytes: codes of another row":
        ("byte_chain.cuh", "operand[step / 4][step % 4]",
         "operand[step / 4][step % 4 ^ 1]", WRONG),
    "chain of bytes: the filters of the first columns":
        ("byte_chain.cuh", "first * P::c);", "0 * P::c);", WRONG),
    "chain of bytes: boxes of another row of pixels":
        ("byte_chain.cuh", "storeBox(mapY, boxAt(box), box * 128, col, line);",
         "storeBox(mapY, boxAt(box), box * 128, col, line - 1);", WRONG),
}, "wgmma_attention": {
    "descriptor: half of the lines":
        ("wgmma_attention_products.cuh",
         "describeOperand<false>(values, P::tileN)",
         "describeOperand<false>(values, P::tileN / 2)", WRONG),
    "no wait for values":
        ("wgmma_attention_warpgroup.cuh",
         """      memory.vFull[before.stage].wait(before.parity);
      waitForOrder();
""", "      waitForOrder();\n", f"{WRONG}nan|{EARLY}"),
    "no arrival at the order barrier":
        ("wgmma_attention_warpgroup.cuh",
         "      arriveOrder();\n      waitProducts<1>();",
         "      waitProducts<1>();", DEADLOCK),
}, "group_norm": {
    "norms: no wait for the other blocks' moments":
        ("group_norm.cuh",
         "    arriveClusterShared();\n    waitCluster();\n", "", WRONG),
    "norms: counts of whole blocks":
        ("group_norm.cuh", "float(rest < kPixels ? rest : kPixels)",
         "float(kPixels)", WRONG),
}, "wgmma_attention_gradient": {
    "no wait for products":
        ("wgmma_attention_gradient.cuh",
         "      waitProducts<0>();\n      keepBelow(dp);\n",
         "      keepBelow(dp);\n", f"{WRONG}|{EARLY}"),
    "numbers that never arrive":
        ("wgmma_attention_gradient.cuh", "    full.arriveIf(lane == 0);\n", "",
         DEADLOCK),
    "steps that a warpgroup does not need, not skipped":
        ("wgmma_attention_gradient.cuh", "      skip(place, before);\n", "",
         f"{WRONG}|{EARLY}|{DEADLOCK}"),
    "causal: a query's own key hidden":
        ("attention_gradient_rows.cuh", "OfKeys ? other < row :",
         "OfKeys ? other <= row :", WRONG),
}, "gemv": {
    "rings of few blocks: no wait for copies":
        ("gemv_turns.cuh", "      waitCopies<stages - 1>();\n", "", WRONG),
    "rings of few blocks: no wait for rows of A":
        ("gemv_turns.cuh", "  waitCopies<0>();\n  __syncthreads();\n", "", WRONG),
    "rings of few blocks: the next tile of another warp":
        ("gemv_turns.cuh", "      fetched += turn;\n", "      fetched += gridDim.x;\n",
         WRONG),
}, "rows_gemm": {
    "rings of codes: no wait for copies":
        ("code_rows.cuh", "          waitCopies<P::stages - 1>();\n", "", WRONG),
    "rings of codes: a stage fetched into another":
        ("code_rows.cuh", "fetchStage = fetchStage + 1 == P::stages",
         "fetchStage = fetchStage + 2 >= P::stages", WRONG),
    "codes: no wait for rows of A":
        ("code_rows.cuh", """    rows.convert(pieces, a, scale, 0, true);
    __syncthreads();
""", "    rows.convert(pieces, a, scale, 0, true);\n", WRONG),
    "codes: no wait for parts that are all in shared memory":
        ("code_rows.cuh", """    waitCopies<0>();
    Ring::join();
""", "", WRONG),
    "codes: squares of other pieces":
        ("lane_values.cuh", "isUpper ? values[i + half] : values[i];\n      values",
         "isUpper ? values[i] : values[i + half];\n      values", WRONG),
    "codes: no wait for rows of A that are copied":
        ("scaled_rows.cuh", "    commitCopies();\n    waitCopies<0>();\n",
         "    commitCopies();\n", WRONG),
    "codes: numbers of other elements than they meet":
        ("scaled_rows.cuh", "of[j].at[i] = selectPair(whole.at, i);",
         "of[j].at[i] = whole.at[i];", WRONG),
    "rows: no wait for copies":
        ("rows_gemm.cuh", "    waitCopies<P::stages - 1>();\n", "", WRONG),
    "rows: the stage of another part of k":
        ("rows_gemm.cuh", "const char *stage = own + at % P::stages * stageBytes;\n    Tiles",
         "const char *stage = own + (at + 1) % P::stages * stageBytes;\n    Tiles", WRONG),
}, "rows_clusters": {
    "rows that blocks share: no wait for a part":
        ("shared_rows.cuh", "{ barrierOf(part).wait(0); }", "{}", WRONG),
    "rows that blocks share: the parts of another block":
        ("shared_rows.cuh", "part % kSharing<P> != int(clusterRank())",
         "part % kSharing<P> == int(clusterRank())", WRONG),
    "rows that blocks share: no wait for the other blocks":
        ("shared_rows.cuh", "    waitCluster();\n", "",
         r"a barrier was not (initialised|fenced)"),
}, "attention_clusters": {
    "columns: no wait for the cluster":
        ("attention_columns.cuh", """    arriveClusterShared();
    waitCluster();
  }
#endif
  if""", """  }
#endif
  if""", WRONG),
    "columns: values of another query":
        ("attention_columns.cuh", "value * 16 + half * 8 + lane / 4]",
         "value * 16 + (1 - half) * 8 + lane / 4]", WRONG),
}, "sparse_rows": {
    "2:4: places of the other half":
        ("sparse_tiles.cuh", "mmaSparse<T, 0>", "mmaSparse<T, 1>", WRONG),
}, "wgmma_sparse": {
    "2:4: no wait for operands":
        ("wgmma_sparse.cuh", "          full[place.stage].wait(place.parity);\n", "",
         f"{WRONG}|{EARLY}"),
    "2:4: no wait for a free stage":
        ("wgmma_sparse.cuh", "      empty[place.stage].wait(place.parity ^ 1);\n", "",
         f"{WRONG}|{EARLY}"),
    "2:4: scales of the next rows":
        ("wgmma_sparse.cuh", "b.scales[tile * 16 + h * 8", "b.scales[tile * 16 + (1 - h) * 8",
         WRONG),
}}


def compile_and_run(check, folder, headers):
    """Returns the exit status of a check and what it prints."""
    program = folder / "check"
    subprocess.run([*COMPILER, f"-I{headers}", *INCLUDES,
                    "-include", folder / "common.h", "-x", "c++",
                    HERE / f"{check}.cu", "-o",
                    program], check=True)
    done = subprocess.run([program], capture_output=True, text=True,
                          timeout=100)
    return done.returncode, done.stdout + done.stderr


def plant(check, name, folder, headers):
    """Returns whether a check finds a fault."""
    header, text, instead, expected = FAULTS[check][name]
    path = headers / "frit" / header
    original = path.read_text()
    if original.count(text) != 1:
        sys.exit(f"{name}: {header} has the text {original.count(text)} times")
    path.write_text(original.replace(text, instead))
    status, output = compile_and_run(check, folder, headers)
    path.write_text(original)
    found = status == 1 and re.search(expected, output)
    print(f"{'found' if found else 'MISSED'} by {check}: {name}", flush=True)
    if not found:
        print(f"exit status {status}\n{output}")
    return found


def main():
    only, checks = sys.argv[1:], list(FAULTS)
    if only == ["--part"]:  # of the checks, each of which is compiled once more
        only, checks = [], parts.pick("planted faults", checks)
    wanted = only or [name for check in checks for name in FAULTS[check]]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        headers = folder / "include"
        (headers / "frit").mkdir(parents=True)
        for header in HEADERS:
            shutil.copy(header, headers / "frit")
        common = folder / "common.h"
        common.write_text(COMMON)
        subprocess.run([*COMPILER, f"-I{headers}", *INCLUDES,
                        "-x", "c++-header", common, "-o", f"{common}.gch"],
                       check=True)
        for check, faults in FAULTS.items():
            names = [name for name in faults if name in wanted]
            if not names:
                continue
            status, output = compile_and_run(check, folder, headers)
            if status != 0:
                sys.exit(f"{check} fails without a fault:\n{output}")
            missed += sum(not plant(check, name, folder, headers)
                          for name in names)
    print(f"{missed} of {len(wanted)} faults missed")
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
