"""Opens the pages of fritc --report and frit-run --profile in Chromium and uses them: page.py FOLDER MODELS"""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from browser import Browser
from onnx import TensorProto, helper, numpy_helper

folder, models = Path(sys.argv[1]), Path(sys.argv[2])
os.chdir(folder)
training = models.parent / "training" / "digits"


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def detail(browser):
    return browser.run("document.getElementById('details').innerText")


def choose_tab(browser, name):
    browser.run(f"[...document.querySelectorAll('#tabs button')].find(b => b.textContent === '{name}').click()")
    browser.frame()


def search(browser, text):
    browser.run("document.getElementById('search').focus(); document.getElementById('search').select()")
    browser.type(text)
    found = browser.run("[...document.querySelectorAll('#found li')].map(li => li.textContent)")
    browser.press("Enter")
    return found


def center(browser):
    return browser.run("(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('canvas').getBoundingClientRect())")


def colors(browser):
    """Returns the number of colours that the canvas shows."""
    return browser.run("""(c => new Set(new Uint32Array(
        c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size)(document.querySelector('canvas'))""")


def drawn(browser):
    return browser.run("document.querySelector('canvas').toDataURL()")


run("fritc", models / "digits.onnx", "-march=sm_90a,x86-64-v3", "--report=both.html", "--emit=dot", "-o", "both.dot")
run("fritc", models / "digits.onnx", "-march=x86-64-v3", "--report=cpu.html", "-o", "cpu.so")
run("frit-run", "cpu.so", "--profile=timed.html", "--report=cpu.html")
run("frit-run", "cpu.so", "--profile=alone.html")
run("fritc", models / "digits-dynamic.onnx", "-fshape=batch=16", f"--train={training / 'train.json'}", "-march=sm_90a", "-fdata-parallel",
    "--emit=plan", "--report=train.html", "-o", "train.mlir")
for name in ("resnet50", "bert-large"):
    run("fritc", models / "tiny" / f"{name}-dynamo.onnx", "-march=sm_80", "-fprecision=fp16", "--emit=plan",
        f"--report={name}.html", "-o", f"{name}.mlir")

with Browser() as browser:
    browser.open("both.html")
    # The graph: a search chooses a kernel; a click into the middle, where it now is, does too.
    assert colors(browser) > 20
    found = search(browser, "node_softmax")
    assert len(found) == 1 and "reduce_sub_exp" in found[0], found
    text = detail(browser)
    assert "reduce_sub_exp" in text and "(Softmax, opset 20)" in text and "1.30 µs predicted" in text, text
    assert "5 operators in one kernel: reduce, sub, exp, reduce, div" in text, text
    assert "not in one kernel with node 'node_linear' (Gemm, opset 20): only elementwise operators follow" in text, text
    assert "row<team = 8" in text and "__global__" in text, text
    middle = center(browser)
    browser.click(*browser.run("(r => [r.x + 9, r.y + 9])(document.querySelector('canvas').getBoundingClientRect())"))
    assert detail(browser) == ""
    browser.click(*middle)
    assert "reduce_sub_exp" in detail(browser)
    browser.press("Escape")
    assert detail(browser) == ""
    before = drawn(browser)
    browser.wheel(*center(browser), -400)
    assert drawn(browser) != before, "the wheel does not zoom"
    # The arena: hovering names a tensor.
    choose_tab(browser, "Memory")
    assert colors(browser) > 10
    left, top, width, height = browser.run(
        "(r => [r.x, r.y, r.width, r.height])(document.querySelector('canvas').getBoundingClientRect())")
    tips = set()
    for part in range(1, 10):
        browser.move(left + 74 + (width - 90) * part / 10, top + height / 2)
        tips.add(browser.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent"))
    assert any("workspace of conv" in tip and "32.0 MiB at " in tip for tip in tips), tips
    choose_tab(browser, "Kernels")
    rows = browser.run("[...document.querySelectorAll('tbody tr')].map(r => r.innerText)")
    assert len(rows) == 5 and any("max_pool" in row and "generic<threads = 64>" in row for row in rows), rows
    browser.run("document.querySelector('tbody tr').click()")
    assert "node_conv2d" in detail(browser)
    # Another target.
    browser.run("document.getElementById('program').selectedIndex = 1;"
                "document.getElementById('program').dispatchEvent(new Event('change'))")
    assert "x86-64-v3" in browser.run("document.getElementById('program').selectedOptions[0].textContent")
    assert not browser.problems, browser.problems

    # Measured times.
    browser.open("timed.html")
    assert browser.run("[...document.querySelectorAll('#tabs button')].map(b => b.textContent)") == [
        "Graph", "Memory", "Kernels", "Timeline", "Roofline"]
    search(browser, "conv2d")
    assert "measured" in detail(browser)
    for tab in ("Timeline", "Roofline"):
        choose_tab(browser, tab)
        assert colors(browser) > 10, tab
    browser.open("alone.html")
    assert browser.run("document.querySelectorAll('tbody tr').length") == 6
    # Each function of a model that trains.
    browser.open("train.html")
    assert browser.run("[...document.getElementById('program').options].map(o => o.textContent)") == [
        "train_step · sm_90a", "eval_step · sm_90a"]
    # Library calls: what they compute from which tensors, what is fused into them, and how.
    search(browser, "gemm")
    text = detail(browser)
    for part in ("node 'node_linear' (Gemm, opset 20)", "D = A·B + bias", "512x10xf32 stored as 10×512", "Fused into it\nbias",
                 "computed by: cuBLASLt; if it declines, by kernel matmul_add_4", "algorithm: chosen by the library",
                 "precision: f32 operands, f32 sums", "MFLOP of products", "Its kernel, if the library declines"):
        assert part in text, (part, text)
    browser.run("page_steps = JSON.parse(document.getElementById('data').textContent).programs[0].lists"
                ".find(l => l.name === 'train_step').steps")
    gradient = browser.run("page_steps.findIndex(s => s.call?.formula === 'dw = gradient of conv(x, w) for w')")
    search(browser, f"{gradient} conv")
    text = detail(browser)
    assert "dw = gradient of conv(x, w) for w" in text and "computed by: cuDNN\n" in text and "dy" in text, text
    # An exchange: whose results it averages, and who waits for it.
    exchange = browser.run("page_steps.findIndex(s => s.kind === 'all_reduce' && s.needs?.includes(" + str(gradient) + "))")
    search(browser, f"{exchange} all_reduce")
    text = detail(browser)
    assert "buffer = its mean over the ranks" in text and "computed by: NCCL" in text, text
    made, read = text.split("Results of")[1].split("Reads")[0], text.split("Read by")[1]
    assert made.count("\n") > 3 and f"{gradient} conv" in made and "await" in read, text
    assert not browser.problems, browser.problems

    # A name that would be HTML is text.
    evil = "</script><img src=x onerror=document.title='broken'>"
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "y"))
    onnx.save(helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name=evil)], evil, [x], [y]),
                                opset_imports=[helper.make_opsetid("", 18)]), "evil.onnx")
    run("fritc", "evil.onnx", "-march=x86-64", "--emit=plan", "-o", "evil.mlir", "--report=evil.html")
    browser.open("evil.html")
    browser.run("document.getElementById('search').focus()")
    assert search(browser, "relu") and evil in detail(browser)
    assert browser.run("document.title").startswith("evil") and not browser.problems

    # Thousands of kernels open in a moment: products that alternate with sums of rows.
    weight = numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
    nodes, value = [], "x"
    for i in range(5000):
        nodes += [helper.make_node("MatMul", [value, "w"], [f"p{i}"], name=f"product_{i}"),
                  helper.make_node("Softmax", [f"p{i}"], [f"s{i}"], name=f"softmax_{i}")]
        value = f"s{i}"
    nodes[-1].output[0] = "y"
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 8]) for name in ("x", "y"))
    onnx.save(helper.make_model(helper.make_graph(nodes, "long", [x], [y], [weight]),
                                opset_imports=[helper.make_opsetid("", 18)]), "long.onnx")
    run("fritc", "long.onnx", "-march=sm_90a", "--emit=plan", "-o", "long.mlir", "--report=long.html")
    seconds = browser.open("long.html")
    steps = browser.run("JSON.parse(document.getElementById('data').textContent).programs[0].lists"
                        ".find(l => l.name === 'main').steps.length")
    print(f"{steps} steps, {os.path.getsize('long.html') >> 10} KiB, drawn after {seconds:.2f} s")
    assert steps >= 5000 and seconds < 10, (steps, seconds)
    assert search(browser, "product_2400") and "product_2400" in detail(browser)
    assert not browser.problems, browser.problems

# A phone in dark mode: nothing is cut off at the right, the page is dark, and taps show all that a mouse does.
WIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('pre') && e.getBoundingClientRect().width &&
    (e.getBoundingClientRect().right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1 &&
     getComputedStyle(e).overflowX === 'auto')).map(e => e.outerHTML.slice(0, 200))"""
with Browser(width=390, height=844, dark=True, phone=True) as browser:
    def check_width(*where):
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), where
        wide = browser.run(WIDE)
        assert not wide, (where, wide)

    for page in ("both.html", "timed.html", "alone.html", "train.html", "resnet50.html", "bert-large.html"):
        browser.open(page)
        for tab in browser.run("[...document.querySelectorAll('#tabs button')].map(b => b.textContent)"):
            choose_tab(browser, tab)
            check_width(page, tab)
        background = browser.run("getComputedStyle(document.body).backgroundColor")
        assert sum(map(int, background[4:-1].split(","))) < 150, background
        small = browser.run("[...document.querySelectorAll('button, input, select')].filter(e => e.offsetWidth && "
                            "(e.offsetHeight < 44 || e.offsetWidth < 44)).map(e => e.outerHTML)")
        assert not small, (page, small)

    # Tapping a step's card shows its details.
    browser.open("bert-large.html")
    choose_tab(browser, "Kernels")
    card = browser.run("[...document.querySelectorAll('tbody tr')].find(r => r.innerText.includes('A·B + bias + residual')).innerText")
    assert "9.56 KiB" in card and "node_linear_1" in card, card
    assert "memory" in browser.run("getComputedStyle(document.querySelector('td[data-title=memory]'), '::before').content")
    browser.tap(*browser.run("""(row => (row.scrollIntoView({block: 'center'}), (r => [r.x + r.width / 2, r.y + r.height / 2])(
        row.getBoundingClientRect())))([...document.querySelectorAll('tbody tr')].find(r => r.innerText.includes('A·B + bias + residual')))"""))
    check_width("details")
    text = detail(browser)
    assert "D = A·B + bias + residual" in text and "Fused into it\nbias\nresidual" in text and "40x32xf16" in text, text
    browser.tap(*browser.run("(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('.close').getBoundingClientRect())"))
    assert detail(browser) == ""
    # The graph begins with text that can be read; a tap on a box, and one on a tensor of the arena.
    choose_tab(browser, "Graph")
    search(browser, "1 gemm")
    middle = center(browser)
    browser.press("Escape")
    assert detail(browser) == ""
    browser.tap(*middle)
    assert detail(browser).split("\n")[1] == "1 gemm", detail(browser)
    choose_tab(browser, "Memory")
    left, top, width, height = browser.run(
        "(r => [r.x, r.y, r.width, r.height])(document.querySelector('canvas').getBoundingClientRect())")
    for part in range(1, 20):
        browser.tap(left + 74 + (width - 90) * part / 20, top + height / 2)
        if "of the arena in steps" in detail(browser):
            break
    else:
        raise AssertionError("no tap on the arena chooses the step that wrote a tensor")
    assert browser.run("document.querySelector('.legend').offsetHeight > 0"), "a phone shows no legend"
    assert browser.run("document.getElementById('tip').hidden"), "a tip covers what was tapped"
    assert not browser.problems, browser.problems
