// The report's data, and how its numbers are written.

const data = JSON.parse(document.getElementById("data").textContent);

// Steps in which ranks exchange a buffer.
const EXCHANGES = ["all_reduce", "reduce_scatter", "all_gather"];

// One choice of the menu: a list of a program, with what is drawn of it.
const choices = [];
for (const program of data.programs) {
  for (const list of program.lists) {
    if (!list.steps.length && list.name === "prepare") continue;
    for (const [index, step] of list.steps.entries()) {
      step.index = index;
      step.kernelFacts = program.kernels[step.kernel];
      step.reads ||= [];
      step.writes ||= [];
      step.needs ||= [];
      step.label = step.nodes.join(", ");
      step.title = step.library || !step.kernelFacts ? step.kind : step.kernelFacts.name;
      step.group = groupOf(step);
      step.us = step.library ? undefined : step.kernelFacts?.us;
      step.flops = step.kernelFacts?.flops || step.call?.flops || 0;
      step.lines = step.call ? linesOf(step) : step.kernelFacts?.ops || [];
    }
    list.profile?.steps.forEach((measured, i) => (list.steps[i].measured = measured));
    choices.push({ program, list, profile: list.profile });
  }
}
// A profile of which no report is known is a list of its own.
if (data.profile) {
  const steps = data.profile.steps.map((measured, index) => ({
    index, measured, kind: measured.kind, nodes: measured.node ? [measured.node] : [], label: measured.node, title: measured.kernel || measured.kind,
    reads: [], writes: [], needs: [], lines: [], bytes: measured.bytes, flops: measured.flops,
    library: measured.library, group: measured.library ? "library" : measured.flops ? "product" : "other",
  }));
  const program = { function: data.profile.function, arch: data.profile.device, kernels: [] };
  choices.push({ program, list: { name: "main", steps, buffers: [], bare: true }, profile: data.profile });
}

// What a box of the graph says of a call: its nodes, its tensors, and what is fused into it.
function linesOf({ label, call }) {
  const tensors = [...call.operands, ...call.results].map(([role, type]) => [role, type]);
  return [...(label ? [[label, ""]] : []), ...tensors, ...(call.fused.length ? [["fused", call.fused.join(", ")]] : [])];
}

// What a step mostly is, which decides its colour.
function groupOf(step) {
  if (step.library) return "library";
  if (!step.kernelFacts && ["gemm", "conv", "attention"].includes(step.kind)) return "product";
  const names = step.kernelFacts?.ops.map(([name]) => name) || [];
  const has = (...some) => names.some((name) => some.some((part) => name.includes(part)));
  if (has("matmul", "conv", "attention")) return "product";
  if (has("reduce", "softmax", "norm", "pool", "moments")) return "row";
  if (step.kind === "copy" || EXCHANGES.includes(step.kind) || (names.length && names.every((name) =>
      /^(transpose|reshape|slice|concat|gather|pad|expand|cast|iota|tril|pack)/.test(name)))) return "move";
  return names.length ? "map" : "other";
}

const GROUPS = {
  product: "products and convolutions", row: "reductions", map: "elementwise", move: "movement",
  library: "libraries", other: "other",
};

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < 4) (bytes /= 1024), ++unit;
  return `${unit && bytes < 100 ? bytes.toFixed(bytes < 10 ? 2 : 1) : Math.round(bytes)} ${units[unit]}`;
}

function timeText(us) {
  if (us === undefined || us === null) return "";
  if (us < 1000) return `${us < 10 ? us.toFixed(2) : us.toFixed(1)} µs`;
  return us < 1e6 ? `${(us / 1e3).toFixed(us < 1e4 ? 3 : 2)} ms` : `${(us / 1e6).toFixed(2)} s`;
}

function rateText(value, unit) {
  return value ? `${value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : Math.round(value)} ${unit}` : "";
}

// Rates of a measured step: bytes per µs are MB/s.
const gigabytes = (step) => (step.measured?.us > 0 ? step.measured.bytes / step.measured.us / 1e3 : 0);
const teraflops = (step) => (step.measured?.us > 0 ? step.measured.flops / step.measured.us / 1e6 : 0);

// Fraction of the device's peak that a measured step reaches.
function fractionOfPeak(step, profile) {
  if (!(step.measured?.us > 0)) return 0;
  const move = profile.peak_gb_per_s ? gigabytes(step) / profile.peak_gb_per_s : 0;
  const compute = profile.peak_tflop_per_s ? teraflops(step) / profile.peak_tflop_per_s : 0;
  return Math.max(move, compute);
}

// Elements, with text that is never read as HTML.
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== undefined && child !== ""));
  return made;
}

const byId = (id) => document.getElementById(id);

// The style's colours as they are now, light or dark.
function palette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["back", "panel", "text", "soft", "line", "accent", "warn", ...Object.keys(GROUPS)];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function showTip(text, event) {
  const tip = byId("tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 6))}px`;
  tip.style.top = `${Math.max(4, event.clientY + 16 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 16)}px`;
}

// A canvas that fills `view` and is drawn with the screen's resolution. `draw` gets the context and its size.
function makeCanvas(view, draw) {
  const canvas = element("canvas");
  view.append(canvas);
  const context = canvas.getContext("2d");
  let waiting = false;
  const paint = () => {
    waiting = false;
    const { clientWidth: width, clientHeight: height } = canvas;
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  };
  const repaint = () => {
    if (!waiting) requestAnimationFrame(paint);
    waiting = true;
  };
  const observer = new ResizeObserver(repaint);
  observer.observe(canvas);
  return { canvas, repaint, close: () => observer.disconnect() };
}
