// Tables of kernels, and what a profile measured: the timeline, and the roofline.

function showKernels(view, choice, page) {
  const { list, profile } = choice;
  const columns = [
    { title: "#", value: (step) => step.index, text: (step) => step.index },
    { title: "kernel", name: true, value: (step) => step.title, text: (step) => step.title },
    { title: "nodes", name: true, wide: true, value: (step) => step.label, text: (step) => step.label },
  ];
  if (!list.bare)
    columns.push(
      { title: "schedule", name: true, wide: true, value: scheduleOf, text: scheduleOf },
      { title: "predicted", value: (step) => step.us || 0, text: (step) => timeText(step.us) },
      { title: "memory", value: (step) => step.bytes, text: (step) => bytesText(step.bytes) });
  if (profile)
    columns.push(
      { title: "measured", value: (step) => step.measured?.us || 0, text: (step) => timeText(step.measured?.us) },
      { title: "share", value: (step) => step.measured?.us || 0, bar: (step) => (step.measured?.us || 0) / profile.total_us },
      { title: "GB/s", value: gigabytes, text: (step) => rateText(gigabytes(step), "") },
      { title: "TFLOP/s", value: teraflops, text: (step) => rateText(teraflops(step), "") },
      { title: "of peak", value: (step) => fractionOfPeak(step, profile),
        text: (step) => (fractionOfPeak(step, profile) ? `${Math.round(100 * fractionOfPeak(step, profile))}%` : "") });
  // On a phone a step is a card (page.css), in which the numbers come first.
  if (innerWidth < 700) columns.sort((a, b) => Boolean(a.wide) - Boolean(b.wide));
  const sort = (choice.sort ||= profile ? { title: "measured", down: true } : { title: "#", down: false });
  const body = element("tbody");
  const rows = new Map();
  const head = element("tr");
  for (const column of columns)
    head.append(element("th", { textContent: column.title, className: column.name ? "name" : "", onclick: () => {
      sort.down = sort.title === column.title ? !sort.down : !column.name && column.title !== "#";
      sort.title = column.title;
      fill();
    } }));
  // Thousands of rows take a while; the first screens come at once.
  let shown = 400;
  const more = element("button", { onclick: () => ((shown = Infinity), fill()) });
  function fill() {
    const by = columns.find((column) => column.title === sort.title) || columns[0];
    const sorted = [...list.steps].sort((a, b) => {
      const x = by.value(a), y = by.value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (sort.down ? -1 : 1);
    });
    body.replaceChildren(...sorted.slice(0, shown).map(rowOf));
    more.hidden = sorted.length <= shown;
    more.textContent = `Show all ${sorted.length} steps`;
    update();
  }
  function rowOf(step) {
    const row = element("tr", { onclick: () => page.choose(step.index) });
    for (const column of columns) {
      const cell = element("td", { className: `${column.name ? "name" : ""} ${column.wide ? "wide" : ""}` });
      if (!column.name && column.title !== "#") cell.dataset.title = column.title;
      if (column.bar) {
        const bar = element("span", { className: "bar" });
        bar.style.width = `${Math.max(1, 80 * column.bar(step))}px`;
        cell.append(bar, `${(100 * column.bar(step)).toFixed(1)}%`);
      } else {
        cell.textContent = column.text(step);
        if (column.wide) cell.title = column.text(step);
      }
      row.append(cell);
    }
    rows.set(step.index, row);
    return row;
  }
  function update() {
    for (const [index, row] of rows) row.classList.toggle("chosen", index === choice.chosen);
  }
  fill();
  view.append(element("table", { className: "steps" }, element("thead", {}, head), body), more);
  return { close() {}, update, goTo: (step) => rows.get(step)?.scrollIntoView({ block: "center" }) };
}

const scheduleOf = (step) => (step.call ? step.call.formula : step.kernelFacts?.schedule.replace(/^#(cuda|cpu)\./, "") || "");

function showTimeline(view, choice, page) {
  const { list, profile } = choice;
  const steps = list.steps.filter((step) => step.measured);
  const end = steps.reduce((most, { measured }) => Math.max(most, measured.start_us + measured.us), 0);
  const range = (choice.time ||= { from: 0, to: end });
  const margin = 14, barTop = 34;
  // Steps that overlap get lanes of their own.
  const lanes = [];
  for (const step of steps) {
    let lane = lanes.findIndex((until) => until <= step.measured.start_us + 1e-3);
    if (lane < 0) lane = lanes.length;
    lanes[lane] = step.measured.start_us + step.measured.us;
    step.lane = lane;
  }
  const surface = makeCanvas(view, draw);
  const { canvas } = surface;
  let toX, laneHeight, hovered;
  function draw(context, width, height) {
    const colors = palette();
    toX = (time) => margin + ((time - range.from) / (range.to - range.from)) * (width - 2 * margin);
    laneHeight = Math.min(64, Math.max(10, (height - barTop - 60) / Math.max(lanes.length, 1)));
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "center";
    const every = niceTime((range.to - range.from) / Math.max(2, width / 110));
    for (let time = Math.ceil(range.from / every) * every; time <= range.to; time += every) {
      context.fillStyle = colors.line;
      context.fillRect(toX(time), barTop - 8, 1, height - barTop - 30);
      context.fillStyle = colors.soft;
      context.fillText(timeText(time).replace(/\.0+ /, " "), toX(time), 14);
    }
    for (const step of steps) {
      const x = toX(step.measured.start_us), w = Math.max(0.7, toX(step.measured.start_us + step.measured.us) - x - 0.5);
      if (x > width || x + w < 0) continue;
      const y = barTop + step.lane * laneHeight;
      context.fillStyle = colors[step.group];
      context.globalAlpha = step === hovered || step.index === choice.chosen ? 1 : 0.75;
      context.fillRect(x, y, w, laneHeight - 3);
      context.globalAlpha = 1;
      if (w > 46) {
        context.fillStyle = colors.back;
        context.textAlign = "left";
        context.fillText(fitText(context, step.title, w - 10), x + 5, y + laneHeight / 2 - 1);
      }
    }
  }
  const stepAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left, lane = Math.floor((event.clientY - box.top - barTop) / laneHeight);
    return steps.find((step) => step.lane === lane && x >= toX(step.measured.start_us) - 1 &&
      x <= toX(step.measured.start_us + step.measured.us) + 1);
  };
  const move = (by) => {
    const width = Math.min(range.to - range.from, end || 1);
    range.from = Math.min(Math.max(0, range.from + by), Math.max(0, end - width));
    range.to = range.from + width;
    surface.repaint();
  };
  followPointers(canvas, {
    drag: (dx) => move((-dx / (canvas.clientWidth - 2 * margin)) * (range.to - range.from)),
    zoom: (factor, x) => {
      const part = (x - margin) / (canvas.clientWidth - 2 * margin);
      const at = range.from + part * (range.to - range.from);
      const width = Math.min(end, Math.max(0.5, (range.to - range.from) / factor));
      range.from = at - part * width;
      range.to = range.from + width;
      move(0);
    },
    tap: (event) => page.choose(stepAt(event)?.index),
    hover: (event) => {
      const found = event && stepAt(event);
      if (found !== hovered) surface.repaint();
      hovered = found;
      showTip(found ? `${found.title}\n${found.label}\n${measuredText(found)}` : "", event);
    },
  });
  view.append(legend(list));
  return { close: surface.close, update: surface.repaint };
}

const measuredText = (step) =>
  [timeText(step.measured.us), rateText(gigabytes(step), "GB/s"), rateText(teraflops(step), "TFLOP/s")].filter(Boolean).join(", ");

function niceTime(raw) {
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-6)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw);
}

// The roofline: FLOPs per byte across, FLOP/s upwards, both logarithmic. Steps without products stand at the left
// edge, where their height is their bandwidth.
function showRoofline(view, choice, page) {
  const { list, profile } = choice;
  const steps = list.steps.filter((step) => step.measured?.us > 0 && step.measured.bytes > 0);
  const bandwidth = profile.peak_gb_per_s * 1e9, compute = profile.peak_tflop_per_s * 1e12;
  const margin = { left: 88, right: 22, top: 22, bottom: 44 };
  const edge = 1 / 16;
  const points = steps.map((step) => {
    const seconds = step.measured.us * 1e-6, { bytes, flops } = step.measured;
    const intensity = Math.max(flops / bytes, edge);
    return { step, intensity, rate: flops / bytes > edge ? flops / seconds : (bytes / seconds) * edge };
  });
  const most = Math.max(4096, ...points.map((point) => point.intensity * 2));
  const rates = points.map((point) => point.rate).concat(compute || [], bandwidth ? bandwidth * edge : []);
  const top = Math.max(1e6, ...rates) * 2, low = Math.max(1, Math.min(...rates, top / 1e4) / 2);
  const surface = makeCanvas(view, draw);
  const { canvas } = surface;
  let toX, toY, hovered;
  function draw(context, width, height) {
    const colors = palette();
    const part = (value, from, to) => Math.log(value / from) / Math.log(to / from);
    toX = (intensity) => margin.left + part(intensity, edge, most) * (width - margin.left - margin.right);
    toY = (rate) => height - margin.bottom - part(rate, low, top) * (height - margin.top - margin.bottom);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.lineWidth = 1;
    context.strokeStyle = colors.line;
    context.fillStyle = colors.soft;
    const lineTo = (...places) => {
      context.beginPath();
      for (const [x, y] of places) context.lineTo(x, y);
      context.stroke();
    };
    for (let power = Math.ceil(Math.log10(low)); 10 ** power < top; ++power) {
      const y = toY(10 ** power);
      lineTo([margin.left, y], [width - margin.right, y]);
      context.textAlign = "right";
      const unit = power >= 12 ? ["T", 12] : power >= 9 ? ["G", 9] : power >= 6 ? ["M", 6] : ["", 0];
      context.fillText(`${10 ** (power - unit[1])} ${unit[0]}FLOP/s`, margin.left - 6, y);
    }
    context.textAlign = "center";
    const every = width < 600 ? 16 : 4;
    for (let intensity = edge; intensity <= most; intensity *= every) {
      lineTo([toX(intensity), margin.top], [toX(intensity), height - margin.bottom]);
      context.fillText(intensity < 1 ? `1/${1 / intensity}` : intensity, toX(intensity), height - margin.bottom + 13);
    }
    context.fillText("FLOPs per byte", (margin.left + width - margin.right) / 2, height - 12);
    context.lineWidth = 2;
    context.strokeStyle = colors.text;
    if (bandwidth) {
      const ridge = compute ? Math.min(compute / bandwidth, most) : most;
      lineTo([toX(edge), toY(bandwidth * edge)], [toX(ridge), toY(bandwidth * ridge)], ...(compute ? [[toX(most), toY(compute)]] : []));
      context.fillStyle = colors.text;
      context.textAlign = "left";
      const at = Math.sqrt(edge * ridge);
      context.fillText(`${Math.round(profile.peak_gb_per_s)} GB/s`, toX(at) + 8, toY(bandwidth * at) + 12);
      context.textAlign = "right";
      if (compute) context.fillText(`${Math.round(profile.peak_tflop_per_s)} TFLOP/s of 16-bit products`, width - margin.right, toY(compute) - 10);
    }
    for (const point of points) {
      context.beginPath();
      context.arc(toX(point.intensity), toY(point.rate), radiusOf(point), 0, 7);
      context.fillStyle = colors[point.step.group];
      context.globalAlpha = point === hovered || point.step.index === choice.chosen ? 1 : 0.55;
      context.fill();
      if (point === hovered || point.step.index === choice.chosen) context.stroke();
    }
    context.globalAlpha = 1;
  }
  // The area of a point is its share of the time.
  const radiusOf = ({ step }) => 3 + 26 * Math.sqrt(step.measured.us / profile.total_us);
  const pointAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const distance = (point) => Math.hypot(event.clientX - box.left - toX(point.intensity), event.clientY - box.top - toY(point.rate)) - radiusOf(point);
    const nearest = points.reduce((best, point) => (!best || distance(point) < distance(best) ? point : best), undefined);
    return nearest && distance(nearest) < 4 ? nearest : undefined;
  };
  followPointers(canvas, {
    drag() {},
    zoom() {},
    tap: (event) => page.choose(pointAt(event)?.step.index),
    hover: (event) => {
      const found = event && pointAt(event);
      if (found !== hovered) surface.repaint();
      hovered = found;
      showTip(found ? `${found.step.title}\n${found.step.label}\n${measuredText(found.step)}` : "", event);
    },
  });
  view.append(legend(list, "inner"));
  return { close: surface.close, update: surface.repaint };
}
