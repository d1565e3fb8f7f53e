// The arena: time from left to right in steps, offsets upwards, a box for every tensor while it is live.

function showMemory(view, choice, page) {
  const { list } = choice;
  const tensors = list.buffers.map((buffer, index) => ({ buffer, index })).filter(({ buffer }) => buffer.space === "arena");
  const margin = { left: 74, right: 16, top: 16, bottom: 34 };
  const live = liveBytes(list, tensors);
  const peak = live.reduce((best, bytes, step) => (bytes > live[best] ? step : best), 0);
  const range = (choice.range ||= { from: 0, to: list.steps.length });
  const surface = makeCanvas(view, draw);
  const { canvas } = surface;
  let hovered, scaleX, scaleY;

  function draw(context, width, height) {
    const colors = palette();
    const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
    scaleX = (step) => margin.left + ((step - range.from) / (range.to - range.from)) * inner.width;
    scaleY = (offset) => margin.top + (1 - offset / Math.max(list.arena, 1)) * inner.height;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = colors.soft;
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    for (let part = 0; part <= 4; ++part) {
      const y = scaleY((list.arena * part) / 4);
      context.beginPath();
      context.moveTo(margin.left, y);
      context.lineTo(width - margin.right, y);
      context.stroke();
      context.textAlign = "right";
      context.fillText(bytesText((list.arena * part) / 4), margin.left - 7, y);
    }
    context.textAlign = "center";
    const every = niceStep((range.to - range.from) / Math.max(2, inner.width / 90));
    for (let step = Math.ceil(range.from / every) * every; step < range.to; step += every)
      context.fillText(`step ${step}`, scaleX(step + 0.5), height - margin.bottom + 14);

    context.save();
    context.beginPath();
    context.rect(margin.left, margin.top, inner.width, inner.height);
    context.clip();
    for (const tensor of tensors) {
      const { x, y, w, h } = place(tensor);
      if (x > width || x + w < margin.left) continue;
      const writer = list.steps[tensor.buffer.first];
      context.fillStyle = tensor.buffer.workspace ? colors.other : colors[writer.group];
      context.globalAlpha = tensor === hovered || tensor.buffer.first === choice.chosen ? 1 : 0.62;
      context.fillRect(x, y, Math.max(w - 0.6, 0.6), Math.max(h - 0.6, 0.6));
      if (w > 60 && h > 14) {
        context.globalAlpha = 1;
        context.fillStyle = colors.back;
        context.textAlign = "left";
        context.fillText(fitText(context, nameOf(tensor), w - 10), x + 5, y + h / 2);
      }
    }
    context.globalAlpha = 1;
    context.strokeStyle = colors.text;
    context.lineWidth = 1.4;
    context.beginPath();
    live.forEach((bytes, step) => {
      context.lineTo(scaleX(step), scaleY(bytes));
      context.lineTo(scaleX(step + 1), scaleY(bytes));
    });
    context.stroke();
    context.restore();
    if (!tensors.length) {
      context.textAlign = "center";
      context.fillStyle = colors.soft;
      context.fillText("No step needs scratch memory.", width / 2, height / 2);
    }
  }

  const place = ({ buffer }) => {
    const x = scaleX(buffer.first), y = scaleY(buffer.offset + buffer.bytes);
    return { x, y, w: scaleX(buffer.last + 1) - x, h: scaleY(buffer.offset) - y };
  };
  const nameOf = ({ buffer }) =>
    buffer.workspace ? `workspace of ${list.steps[buffer.first].title}` : list.steps[buffer.first].label || list.steps[buffer.first].title;
  const tensorAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const x0 = event.clientX - box.left, y0 = event.clientY - box.top;
    return tensors.find((tensor) => {
      const { x, y, w, h } = place(tensor);
      return x0 >= x && x0 <= x + Math.max(w, 2) && y0 >= y && y0 <= y + Math.max(h, 2);
    });
  };
  const move = (by) => {
    const width = range.to - range.from;
    range.from = Math.min(Math.max(0, range.from + by), list.steps.length - width);
    range.to = range.from + width;
    surface.repaint();
  };
  const inner = () => canvas.clientWidth - margin.left - margin.right;
  followPointers(canvas, {
    drag: (dx) => move((-dx / inner()) * (range.to - range.from)),
    zoom: (factor, x) => {
      const width = Math.min(list.steps.length, Math.max(4, (range.to - range.from) / factor));
      const at = range.from + ((x - margin.left) / inner()) * (range.to - range.from);
      range.from = at - ((x - margin.left) / inner()) * width;
      range.to = range.from + width;
      move(0);
    },
    tap: (event) => page.choose(tensorAt(event)?.buffer.first),
    hover: (event) => {
      const found = event && tensorAt(event);
      if (found !== hovered) surface.repaint();
      hovered = found;
      showTip(found ? `${nameOf(found)}\n${found.buffer.type}, ${bytesText(found.buffer.bytes)} at ${found.buffer.offset}\n` +
        `steps ${found.buffer.first} to ${found.buffer.last}` : "", event);
    },
  });
  const most = element("div", { className: "legend top", textContent:
    `Peak ${bytesText(live[peak] || 0)} at step ${peak}; the line is what is live.` });
  view.append(most);
  return { close: surface.close, update: surface.repaint };
}

// Bytes that are live at each step.
function liveBytes(list, tensors) {
  const changes = new Array(list.steps.length + 1).fill(0);
  for (const { buffer } of tensors) {
    changes[buffer.first] += buffer.bytes;
    changes[buffer.last + 1] -= buffer.bytes;
  }
  let sum = 0;
  return changes.slice(0, -1).map((change) => (sum += change));
}

function niceStep(raw) {
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw);
}
