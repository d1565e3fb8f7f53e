// The graph: a box for every step, with the operators of its kernel inside, or the tensors of its call.

const BOX = { width: 236, line: 17, head: 25, most: 7, gapX: 34, gapY: 44 };

// Places boxes in ranks: a step is below all that it reads. Kept on the list.
function layOut(list) {
  if (list.layout) return list.layout;
  const boxes = [];
  const boxOfStep = list.steps.map((step) => {
    const { lines } = step;
    const shown = lines.length > BOX.most ? BOX.most : lines.length;
    const box = { step, lines, shown, more: lines.length - shown, from: [], to: [], rank: 0 };
    box.height = BOX.head + BOX.line * (shown + (box.more ? 1 : 0)) + (shown ? 7 : 2);
    boxes.push(box);
    return box;
  });
  const link = (from, to) => (from.to.push(to), to.from.push(from));
  const boxOfBuffer = new Map();
  const boundary = (index, buffer) => {
    if (!boxOfBuffer.has(index)) {
      const box = { buffer, lines: [], shown: 0, more: 0, from: [], to: [], rank: 0, height: 40 };
      boxOfBuffer.set(index, box);
      boxes.push(box);
    }
    return boxOfBuffer.get(index);
  };
  for (const box of boxOfStep) {
    for (const needed of box.step.needs) link(boxOfStep[needed], box);
    for (const index of new Set(box.step.reads))
      if (list.buffers[index].space === "input") link(boundary(index, list.buffers[index]), box);
  }
  const lastWriter = new Map();
  for (const box of boxOfStep) for (const index of box.step.writes) lastWriter.set(index, box);
  for (const [index, box] of lastWriter)
    if (list.buffers[index].space === "output") link(box, boundary(index, list.buffers[index]));

  // Steps come in an order in which needs come first; an input is just above its first reader.
  for (const box of boxOfStep)
    for (const below of box.to) below.rank = Math.max(below.rank, box.rank + 1);
  for (const box of boxes) if (box.step) box.rank += 1;
  for (const box of boxes)
    if (!box.step)
      box.rank = box.from.length ? box.from[0].rank + 1 : Math.min(...box.to.map((reader) => reader.rank)) - 1;
  const ranks = [];
  for (const box of boxes) (ranks[box.rank] ||= []).push(box);
  for (let rank = 0; rank < ranks.length; ++rank) ranks[rank] ||= [];

  // Sweeps down and up pull each box towards the middle of its neighbours.
  const middle = (list) => list.reduce((sum, other) => sum + other.x, 0) / list.length;
  for (const row of ranks) row.forEach((box, i) => (box.x = (i - (row.length - 1) / 2) * (BOX.width + BOX.gapX)));
  for (let sweep = 0; sweep < 6; ++sweep) {
    const down = sweep % 2 === 0;
    for (const row of down ? ranks : [...ranks].reverse()) {
      for (const box of row) {
        const near = (down ? box.from : box.to).length ? (down ? box.from : box.to) : [];
        box.wish = near.length ? middle(near) : box.x;
      }
      row.sort((a, b) => a.wish - b.wish);
      spread(row);
    }
  }
  let y = 0;
  const rankTops = [];
  for (const row of ranks) {
    rankTops.push(y);
    const tallest = row.reduce((most, box) => Math.max(most, box.height), 0);
    for (const box of row) box.y = y + (tallest - box.height) / 2;
    y += tallest + BOX.gapY;
  }
  const left = boxes.reduce((least, box) => Math.min(least, box.x), 0) - BOX.width / 2;
  const right = boxes.reduce((most, box) => Math.max(most, box.x), 0) + BOX.width / 2;
  return (list.layout = { boxes, boxOfStep, ranks, left, right, height: y - BOX.gapY });
}

// Gives the boxes of a row their wishes as far as they do not overlap: neighbours that would are a block whose
// middle is the mean of their wishes.
function spread(row) {
  const step = BOX.width + BOX.gapX;
  const blocks = [];
  for (const box of row) {
    let block = { boxes: [box], center: box.wish };
    while (blocks.length) {
      const last = blocks[blocks.length - 1];
      const room = (last.boxes.length + block.boxes.length) * step / 2;
      if (last.center + room <= block.center + 1e-6) break;
      blocks.pop();
      const count = last.boxes.length + block.boxes.length;
      block = {
        boxes: [...last.boxes, ...block.boxes],
        center: (last.center * last.boxes.length + block.center * block.boxes.length) / count,
      };
    }
    blocks.push(block);
  }
  for (const { boxes, center } of blocks)
    boxes.forEach((box, i) => (box.x = center + (i - (boxes.length - 1) / 2) * step));
}

function showGraph(view, choice, page) {
  const layout = layOut(choice.list);
  const camera = (choice.camera ||= {});
  const surface = makeCanvas(view, draw);
  const { canvas } = surface;

  function fit(width, height) {
    const wide = layout.right - layout.left;
    // Text can be read from the start, on a phone too, where wide graphs begin at their first box.
    const least = width < 600 ? 0.9 : 0;
    camera.scale = Math.max(least, Math.min(1, (width - 40) / wide, Math.max((height - 40) / layout.height, 0.6)));
    const middle = wide * camera.scale > width && least ? layout.boxes.reduce(higher).x : (layout.left + layout.right) / 2;
    camera.x = width / 2 - middle * camera.scale;
    camera.y = 20;
  }
  const higher = (one, other) => (other.y < one.y ? other : one);
  function zoom(factor, x, y) {
    const scale = Math.min(3, Math.max(0.01, camera.scale * factor));
    camera.x = x - ((x - camera.x) * scale) / camera.scale;
    camera.y = y - ((y - camera.y) * scale) / camera.scale;
    camera.scale = scale;
    surface.repaint();
  }
  function boxAt(event) {
    const place = canvas.getBoundingClientRect();
    const x = (event.clientX - place.left - camera.x) / camera.scale;
    const y = (event.clientY - place.top - camera.y) / camera.scale;
    return layout.boxes.find((box) => Math.abs(x - box.x) <= BOX.width / 2 && y >= box.y && y <= box.y + box.height);
  }

  function draw(context, width, height) {
    if (camera.scale === undefined) fit(width, height);
    if (camera.goTo !== undefined) {
      const box = layout.boxOfStep[camera.goTo];
      delete camera.goTo;
      camera.scale = Math.max(camera.scale, 0.8);
      camera.x = width / 2 - box.x * camera.scale;
      camera.y = height / 2 - (box.y + box.height / 2) * camera.scale;
    }
    const { scale } = camera;
    context.translate(camera.x, camera.y);
    context.scale(scale, scale);
    const top = -camera.y / scale, bottom = (height - camera.y) / scale;
    const left = -camera.x / scale, right = (width - camera.x) / scale;
    const colors = palette();
    const inView = (box) => box.y < bottom && box.y + box.height > top;
    const chosen = layout.boxOfStep[choice.chosen];

    context.lineWidth = Math.max(1.2, 0.7 / scale);
    for (const marked of [false, true]) {
      context.strokeStyle = marked ? colors.accent : colors.soft;
      context.globalAlpha = marked ? 1 : 0.55;
      context.beginPath();
      for (const box of layout.boxes)
        for (const below of box.to) {
          if ((box === chosen || below === chosen) !== marked) continue;
          const y0 = box.y + box.height, y1 = below.y;
          if (y0 > bottom || y1 < top) continue;
          const bend = Math.max((y1 - y0) / 2, 14);
          // An edge past other ranks leaves the column that they are in.
          const away = below.rank - box.rank > 1 && Math.abs(below.x - box.x) < BOX.width ? BOX.width * 0.68 : 0;
          context.moveTo(box.x, y0);
          if (away) {
            const side = box.x + away, reach = Math.min(60, (y1 - y0) / 3);
            context.bezierCurveTo(box.x, y0 + 24, side, y0 + 14, side, y0 + reach);
            context.lineTo(side, y1 - reach);
            context.bezierCurveTo(side, y1 - 14, below.x, y1 - 24, below.x, y1);
          } else {
            context.bezierCurveTo(box.x, y0 + bend, below.x, y1 - bend, below.x, y1);
          }
        }
      context.stroke();
    }
    context.globalAlpha = 1;
    for (const box of layout.boxes)
      if (inView(box) && box.x + BOX.width / 2 > left && box.x - BOX.width / 2 < right)
        drawBox(context, box, box === chosen, scale, colors);
  }

  function drawBox(context, box, isChosen, scale, colors) {
    const x = box.x - BOX.width / 2, radius = box.step ? 8 : box.height / 2;
    const tint = box.step ? colors[box.step.group] : colors.soft;
    context.beginPath();
    context.roundRect(x, box.y, BOX.width, box.height, radius);
    context.fillStyle = colors.panel;
    context.fill();
    context.lineWidth = isChosen ? 3 : 1.2;
    context.strokeStyle = isChosen ? colors.accent : tint;
    context.stroke();
    if (scale < 0.3) {
      context.globalAlpha = 0.55;
      context.fillStyle = tint;
      context.fill();
      context.globalAlpha = 1;
      return;
    }
    context.save();
    context.clip();
    if (box.step) {
      context.fillStyle = tint;
      context.fillRect(x, box.y, 5, box.height);
    }
    context.textBaseline = "middle";
    context.font = "600 13px system-ui, sans-serif";
    context.fillStyle = colors.text;
    if (!box.step) {
      context.textAlign = "center";
      context.fillText(fitText(context, box.buffer.name || box.buffer.space, BOX.width - 24), box.x, box.y + 13);
      context.font = "11px system-ui, sans-serif";
      context.fillStyle = colors.soft;
      context.fillText(box.buffer.type, box.x, box.y + 28);
    } else {
      const time = timeText(box.step.measured?.us ?? box.step.us);
      context.textAlign = "left";
      context.font = "11px system-ui, sans-serif";
      const room = time ? context.measureText(time).width + 8 : 0;
      context.font = "600 13px system-ui, sans-serif";
      context.fillText(fitText(context, box.step.title, BOX.width - 24 - room), x + 13, box.y + 14);
      context.font = "11px system-ui, sans-serif";
      context.fillStyle = colors.soft;
      context.textAlign = "right";
      context.fillText(time, x + BOX.width - 9, box.y + 14);
      for (let i = 0; i < box.shown; ++i) {
        const [name, type] = box.lines[i], y = box.y + BOX.head + BOX.line * (i + 0.5);
        context.textAlign = "left";
        context.fillStyle = colors.text;
        context.fillText(fitText(context, name, BOX.width - (type ? 150 : 30)), x + 21, y);
        context.fillStyle = colors.line;
        context.fillRect(x + 13, y - 2, 4, 4);
        context.fillStyle = colors.soft;
        context.textAlign = "right";
        context.fillText(fitText(context, type, 120), x + BOX.width - 9, y);
      }
      context.textAlign = "left";
      if (box.more) context.fillText(`and ${box.more} more`, x + 21, box.y + BOX.head + BOX.line * (box.shown + 0.5));
    }
    context.restore();
  }

  followPointers(canvas, {
    drag: (dx, dy) => ((camera.x += dx), (camera.y += dy), surface.repaint()),
    zoom,
    tap: (event) => {
      const box = boxAt(event);
      page.choose(box?.step ? box.step.index : undefined);
    },
    hover: (event) => {
      const box = event && boxAt(event);
      canvas.style.cursor = box?.step ? "pointer" : "grab";
      showTip(box ? (box.step ? `${box.step.title}\n${box.step.label}` : `${box.buffer.name} ${box.buffer.type}`) : "", event);
    },
  });
  const center = (factor) => () => zoom(factor, canvas.clientWidth / 2, canvas.clientHeight / 2);
  const button = (label, text, onclick) => element("button", { textContent: text, title: label, ariaLabel: label, onclick });
  view.append(element("div", { className: "buttons" }, button("Zoom in", "+", center(1.4)), button("Zoom out", "−", center(1 / 1.4)),
    button("Show all", "Fit", () => {
      const wide = layout.right - layout.left;
      camera.scale = Math.min(1, (canvas.clientWidth - 40) / wide, (canvas.clientHeight - 40) / layout.height);
      camera.x = canvas.clientWidth / 2 - ((layout.left + layout.right) / 2) * camera.scale;
      camera.y = 20;
      surface.repaint();
    })), legend(choice.list));
  return {
    close: surface.close,
    update: surface.repaint,
    goTo: (step) => ((camera.goTo = step), surface.repaint()),
  };
}

function legend(list, place = "") {
  const used = new Set(list.steps.map((step) => step.group));
  const box = element("div", { className: `legend ${place}` });
  for (const [group, text] of Object.entries(GROUPS))
    if (used.has(group)) {
      const mark = element("i");
      mark.style.background = `var(--${group})`;
      box.append(element("span", {}, mark, text));
    }
  return box;
}

function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low) + "…";
}

// Calls back for a drag, a wheel or pinch, a tap and a hover; `hover` without an event: the pointer has left.
function followPointers(canvas, { drag, zoom, tap, hover }) {
  const pointers = new Map();
  let moved = false;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    moved = pointers.size > 1;
  });
  canvas.addEventListener("pointermove", (event) => {
    const last = pointers.get(event.pointerId);
    if (!last) return hover(event);
    const dx = event.clientX - last.clientX, dy = event.clientY - last.clientY;
    if (!moved && Math.hypot(dx, dy) < 4) return;
    moved = true;
    hover();
    if (pointers.size === 2) {
      const [one, two] = pointers.values();
      const other = one.pointerId === event.pointerId ? two : one;
      const place = canvas.getBoundingClientRect();
      const before = Math.hypot(last.clientX - other.clientX, last.clientY - other.clientY);
      const after = Math.hypot(event.clientX - other.clientX, event.clientY - other.clientY);
      zoom(after / Math.max(before, 1), (event.clientX + other.clientX) / 2 - place.left, (event.clientY + other.clientY) / 2 - place.top);
    } else {
      drag(dx, dy);
    }
    pointers.set(event.pointerId, event);
  });
  const release = (event) => {
    if (pointers.delete(event.pointerId) && !moved && event.type === "pointerup") tap(event);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => hover());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const place = canvas.getBoundingClientRect();
    if (event.ctrlKey || !event.shiftKey) zoom(Math.exp(-event.deltaY * 0.0016), event.clientX - place.left, event.clientY - place.top);
    else drag(-event.deltaX - event.deltaY, 0);
  }, { passive: false });
}
