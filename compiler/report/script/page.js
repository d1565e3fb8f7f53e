// The page: menus, search, and what is known of the chosen step.

const page = { choice: undefined, tab: undefined, shown: undefined };

const TABS = [
  { name: "Graph", show: showGraph, has: ({ list }) => !list.bare },
  { name: "Memory", show: showMemory, has: ({ list }) => !list.bare },
  { name: "Kernels", show: showKernels, has: () => true },
  { name: "Timeline", show: showTimeline, has: ({ profile }) => profile },
  { name: "Roofline", show: showRoofline, has: ({ profile }) => profile },
];

page.open = (choice) => {
  page.choice = choice;
  const tabs = TABS.filter((tab) => tab.has(choice));
  byId("tabs").replaceChildren(...tabs.map((tab) => {
    const button = element("button", { textContent: tab.name, onclick: () => page.show(tab) });
    button.setAttribute("role", "tab");
    return button;
  }));
  byId("figures").replaceChildren(...figuresOf(choice).map(([name, value]) =>
    element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value }))));
  page.show(tabs.includes(page.tab) ? page.tab : tabs[0]);
  page.describe();
};

page.show = (tab) => {
  page.tab = tab;
  for (const button of byId("tabs").children)
    button.setAttribute("aria-selected", button.textContent === tab.name);
  page.shown?.close();
  showTip("");
  const view = byId("view");
  view.replaceChildren();
  view.className = tab.name === "Kernels" ? "" : "canvas";
  page.shown = tab.show(view, page.choice, page);
};

// Chooses a step by its index, or none.
page.choose = (index) => {
  page.choice.chosen = index;
  page.describe();
  page.shown.update();
};

// Chooses a step and brings it into view.
page.goTo = (index) => {
  page.choose(index);
  page.shown.goTo?.(index);
};

function figuresOf({ program, list, profile }) {
  const figures = [["steps", list.steps.length]];
  if (!list.bare) {
    const predicted = list.steps.reduce((sum, step) => sum + (step.us || 0), 0);
    const known = list.steps.filter((step) => step.us !== undefined).length;
    figures.push(["kernels", program.kernels.length], ["arena", bytesText(list.arena)],
      ["lower bound", bytesText(list.bound)], ["weights", bytesText(data.weights)]);
    if (data.state) figures.push(["state", bytesText(data.state)]);
    if (known) figures.push(["predicted", known === list.steps.length ? timeText(predicted)
      : `${timeText(predicted)} for ${known} of them`]);
  }
  if (profile) figures.push(["a call", timeText(profile.call_us)], ["all steps", timeText(profile.total_us)], ["on", profile.device]);
  return figures;
}

// Why the nodes of a step are one kernel, and why others are not in it.
function remarksOf(step, program) {
  const about = data.remarks.filter((remark) => remark.target === program.arch);
  const own = about.filter((remark) => remark.nodes.some((node) => step.nodes.includes(node)));
  // What is said of a reader names the producer.
  const others = about.filter((remark) => remark.missed && !own.includes(remark) &&
    step.nodes.some((node) => remark.text.includes(node)));
  return [
    ...own.filter((remark) => !remark.missed).map(({ text }) => ({ text })),
    ...own.filter((remark) => remark.missed).map(({ text }) => ({ text, missed: true })),
    ...others.map(({ nodes, text }) => ({ text: `${nodes.join(", ")}: ${text}`, missed: true })),
  ];
}

// What a library call or an exchange computes: all that is known of a step without a kernel of its own.
function describeCall({ formula, operands, results, fused, facts }, part, lines) {
  const rows = [...operands, ...results].map(([role, type, note]) => element("tr", {},
    element("td", { className: "name", textContent: role }),
    element("td", { className: "name" }, element("code", { textContent: type }), note && ` ${note}`)));
  part("Computes", element("p", {}, element("code", { textContent: formula })), element("table", { className: "tensors" }, ...rows));
  if (fused.length) part("Fused into it", lines(fused));
  if (facts.length) part("How", lines(facts.map(([name, text]) => `${name}: ${text}`)));
}

page.describe = () => {
  const { choice } = page;
  const details = byId("details");
  const step = choice.list.steps[choice.chosen];
  details.hidden = !step;
  details.replaceChildren();
  if (!step) return;
  const { program, list } = choice;
  const kernel = step.kernelFacts;
  const part = (title, ...children) => children.length && details.append(element("h3", { textContent: title }), ...children);
  const lines = (texts) => element("ul", {}, ...texts.map((text) => (typeof text === "string" ? element("li", { textContent: text }) : text)));
  const stepLink = (other) => element("a", { className: "step", textContent: `${other.index} ${other.title}`, onclick: () => page.goTo(other.index) });
  const tensor = (index) => {
    const buffer = list.buffers[index];
    const writers = list.steps.filter((other) => other.index < step.index && other.writes.includes(index));
    const from = buffer.name || (buffer.workspace ? "workspace" : "");
    return element("li", {}, `${buffer.type} `, from || (writers.length ? stepLink(writers[writers.length - 1]) : ""),
      ` ${bytesText(buffer.bytes)}`,
      buffer.space === "arena" ? `, byte ${buffer.offset} of the arena in steps ${buffer.first} to ${buffer.last}` : "");
  };
  details.append(element("button", { className: "close", textContent: "×", title: "Close", onclick: () => page.choose(undefined) }),
    element("h2", { textContent: `${step.index} ${step.title}` }));
  if (step.nodes.length) part("Nodes of the model", lines(step.nodes));
  if (step.call) describeCall(step.call, part, lines);
  const guard = list.steps[step.guard];
  if (guard) part("Inside a guard", element("p", {}, stepLink(guard), `: ${guard.call.formula}`));
  const times = [];
  if (step.us !== undefined) times.push(`${timeText(step.us)} predicted`);
  if (step.measured) times.push(`${measuredText(step)} measured` +
    (fractionOfPeak(step, choice.profile) ? `, ${Math.round(100 * fractionOfPeak(step, choice.profile))}% of peak` : ""));
  if (step.bytes) times.push(`${bytesText(step.bytes)} read and written`);
  if (step.flops) times.push(`${(step.flops / 1e6).toPrecision(4)} MFLOP of products`);
  if (step.measured && step.measured.kernel !== step.title) times.push(`ran as ${step.measured.kernel}`);
  if (times.length) part("Cost", lines(times));
  if (kernel) {
    if (kernel.ops.length) part(step.call ? "Operators of its kernel" : "Operators", lines(kernel.ops.map(([name, type]) => `${name} → ${type}`)));
    const launch = kernel.grid ? `, ${kernel.grid.join("×")} blocks${kernel.block ? ` of ${kernel.block.join("×")} threads` : ""}` +
      (kernel.shared ? `, ${bytesText(kernel.shared)} shared` : "") : "";
    part(step.call ? "Its kernel, if the library declines" : "Schedule",
      element("p", {}, element("code", { textContent: kernel.schedule + launch })));
  }
  const remarks = remarksOf(step, program);
  if (remarks.length) part(step.call ? "Why this call" : "Why this kernel", lines(remarks.map((remark) =>
    element("li", { className: remark.missed ? "missed" : "", textContent: remark.text }))));
  const readers = list.steps.filter((other) => other.needs.includes(step.index));
  const links = (others) => element("ul", {}, ...others.slice(0, 40).map((other) => element("li", {}, stepLink(other))));
  // A buffer that ranks exchange is a bucket of results of several steps.
  if (EXCHANGES.includes(step.kind) && step.needs.length) part("Results of", links(step.needs.map((index) => list.steps[index])));
  if (step.reads.length) part("Reads", element("ul", {}, ...step.reads.map(tensor)));
  if (step.writes.length) part("Writes", element("ul", {}, ...step.writes.map(tensor)));
  if (readers.length) part("Read by", links(readers));
  if (kernel?.source) part("Source", element("pre", { textContent: kernel.source }));
  details.scrollTop = 0;
};

//
// Search
//

let found = [], marked = 0;
function search() {
  const text = byId("search").value.trim().toLowerCase();
  const list = byId("found");
  found = text ? page.choice.list.steps.filter((step) =>
    `${step.index} ${step.title} ${step.label}`.toLowerCase().includes(text)).slice(0, 60) : [];
  marked = 0;
  list.hidden = !text;
  list.replaceChildren(...(found.length ? found.map((step) => element("li", {
    textContent: `${step.index} ${step.title}: ${step.label}`,
    onpointerdown: (event) => (event.preventDefault(), take(step)),
  })) : text ? [element("li", { textContent: "No such node" })] : []));
  const box = byId("search").getBoundingClientRect();
  list.style.left = `${Math.min(box.left, Math.max(6, innerWidth - list.offsetWidth - 6))}px`;
  list.style.top = `${box.bottom + 4}px`;
  mark();
}
function mark() {
  [...byId("found").children].forEach((item, i) => item.setAttribute("aria-selected", i === marked));
  byId("found").children[marked]?.scrollIntoView({ block: "nearest" });
}
function take(step) {
  byId("found").hidden = true;
  page.goTo(step.index);
}
byId("search").addEventListener("input", search);
byId("search").addEventListener("blur", () => (byId("found").hidden = true));
byId("search").addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    marked = (marked + (event.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(found.length, 1);
    mark();
  } else if (event.key === "Enter" && found[marked]) {
    take(found[marked]);
  } else if (event.key === "Escape") {
    byId("found").hidden = true;
  }
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== byId("search")) {
    event.preventDefault();
    byId("search").focus();
  } else if (event.key === "Escape") {
    page.choose(undefined);
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.shown.update());

//
// Start
//

document.title = `${data.title} – frit`;
byId("title").textContent = data.title;
byId("program").replaceChildren(...choices.map(({ program, list }, i) => element("option", {
  value: i,
  textContent: [program.function !== "main" && !list.name.startsWith(program.function) && program.function, list.name !== "main" && list.name, program.arch].filter(Boolean).join(" · "),
})));
byId("program").hidden = choices.length < 2;
byId("program").addEventListener("change", (event) => page.open(choices[event.target.value]));

const measured = choices.findIndex((choice) => choice.profile);
const start = measured >= 0 ? measured : Math.max(0, choices.findIndex(({ list }) => !["prepare", "derive"].includes(list.name)));
byId("program").value = start;
if (choices.length) page.open(choices[start]);
