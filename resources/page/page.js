"use strict";
// The page of a document: numbers in typed arrays, one large map on a canvas, and for each cell its sources.
// It reads nothing but itself.
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const bytes = await unpacked(document.getElementById("numbers").textContent.trim());
  const state = { site: data.site, stage: data.stage, head: data.head, range: "head", language: data.language,
    dark: matchMedia("(prefers-color-scheme: dark)").matches, row: data.row, column: null, locked: false,
    step: Math.max(0, data.steps.findLastIndex((step) => step.p === null)) };
  const say = (name) => data.words[state.language][name];
  const site = () => data.sites[state.site];
  const stage = (id = state.stage) => site().stages.find((row) => row.id === id);

  async function unpacked(text) {
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  // --- numbers

  function half(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
  }
  // Every half there is: a table is read faster than a number is put together.
  let halves = null;
  function widened(bits) {
    halves ??= Float32Array.from({ length: 65536 }, (_, at) => half(at));
    const found = new Float32Array(bits.length);
    for (let at = 0; at < bits.length; at++) found[at] = halves[bits[at]];
    return found;
  }
  const kept = new Map();
  function numbers(row) {
    if (kept.has(row)) return kept.get(row);
    const count = row.shape.reduce((a, b) => a * b, 1);
    let found;
    if (row.type === "f2") found = widened(new Uint16Array(bytes, row.at, count));
    else found = new (row.type === "f8" ? Float64Array : Float32Array)(bytes, row.at, count);
    kept.set(row, found);
    return found;
  }
  // One head of a stage: rows, columns, and value(i, j).
  function matrix(row, head) {
    const [rows, columns] = row.shape.slice(-2), all = numbers(row);
    const start = row.shape.length === 3 ? head * rows * columns : 0;
    return { rows, columns, value: (i, j) => all[start + i * columns + j] };
  }
  function headOf(row) {
    if (row.shape.length < 3) return 0;
    return row.axes[0] === "kv_head" ? Math.floor(state.head / site().group) : state.head;
  }
  function hidden(row, i, j) {
    const cells = site().hidden;
    if (!cells || !row.hatched) return false;
    if (!kept.has(cells)) kept.set(cells, new Uint8Array(bytes, cells.at, cells.length));
    const at = i * site().keys.length + j;
    return (kept.get(cells)[at >> 3] >> (7 - (at & 7))) & 1;
  }
  function shown(value) {
    if (Number.isNaN(value)) return "NaN";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : value.toFixed(size < 100 ? 3 : 1);
    return text.replace("-", "−");
  }
  // As in a cell: four places, so small numbers have one digit and an exponent.
  function brief(value) {
    const size = Math.abs(value);
    if (size === 0 || size >= 1e-3 || !Number.isFinite(value)) return shown(value);
    return (size < 5e-4 ? value.toExponential(0) : value.toFixed(3)).replaceAll("-", "−");
  }
  // The fewest digits that give the stored number back.
  function exact(value, type) {
    if (!Number.isFinite(value) || type === "f8") return Number.isFinite(value) ? String(value).replaceAll("-", "−") : shown(value);
    let digits = type === "f2" ? 4 : 1;
    while (type === "f4" && Math.fround(Number(value.toPrecision(digits))) !== value) digits += 1;
    return String(Number(value.toPrecision(digits))).replaceAll("-", "−");
  }

  // --- colours

  const known = new Map();
  function ends(row, head, i = null) {
    const key = `${state.site} ${row.id} ${state.range === "all" ? "all" : head} ${i}`;
    if (!known.has(key)) known.set(key, measured(row, head, i));
    return known.get(key);
  }
  function measured(row, head, i) {
    let low = Infinity, high = -Infinity;
    const heads = state.range === "all" && row.shape.length === 3 ? [...Array(row.shape[0]).keys()] : [head];
    for (const one of heads) {
      const m = matrix(row, one);
      for (let a = i ?? 0; a < (i === null ? m.rows : i + 1); a++)
        for (let b = 0; b < m.columns; b++) {
          const v = m.value(a, b);
          if (!Number.isFinite(v) || hidden(row, a, b)) continue;
          low = Math.min(low, v);
          high = Math.max(high, v);
        }
    }
    if (!row.signed) return [0, high > 0 ? high : 1];
    const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return Number.isFinite(most) ? [-most, most] : [-1, 1];
  }
  function place(value, [low, high], signed) {
    if (state.range === "log" && !signed) {
      const least = high * 1e-4;
      return value <= least ? 0 : Math.log(value / least) / Math.log(high / least);
    }
    return (value - low) / (high - low || 1);
  }
  function color(share, signed) {
    const table = data.colors[signed ? (state.dark ? "diverging_dark" : "diverging") : "sequential"];
    const at = Math.max(0, Math.min(255, Math.round(share * 255))) * 3;
    return [table[at], table[at + 1], table[at + 2]];
  }
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function paint(row, head, width, height) {
    const m = matrix(row, head), image = new ImageData(width, height);
    const rowEnds = state.range === "row" ? [...Array(m.rows).keys()].map((i) => ends(row, head, i)) : null;
    const whole = rowEnds ? null : ends(row, head);
    for (let y = 0; y < height; y++) {
      const i = Math.floor((y * m.rows) / height);
      for (let x = 0; x < width; x++) {
        const j = Math.floor((x * m.columns) / width), v = m.value(i, j), at = (y * width + x) * 4;
        if (!Number.isFinite(v) || hidden(row, i, j)) continue;
        const [r, g, b] = color(place(v, rowEnds ? rowEnds[i] : whole, row.signed), row.signed);
        image.data.set([r, g, b, 255], at);
      }
    }
    return image;
  }

  // --- the map

  let layout = null;
  function labels(axis, count) {
    if (axis === "query" || axis === "token") return site().queries;
    if (axis === "key" || axis === "memory") return site().keys;
    if (axis === "vocabulary") return site().vocabulary;
    return [...Array(count).keys()].map(String);
  }
  function drawMap() {
    const canvas = $("map"), row = stage(), head = headOf(row), m = matrix(row, head);
    const [down, across] = row.axes.slice(-2), names = [labels(down, m.rows), labels(across, m.columns)];
    const pen = canvas.getContext("2d"), ratio = devicePixelRatio || 1, room = canvas.parentElement.clientWidth - 32;
    pen.font = "12px Inter, system-ui, sans-serif";
    const longest = Math.min(110, Math.max(...names[0].slice(0, 400).map((name) => pen.measureText(name).width)) + 10);
    const top = row.axes.at(-1) === "feature" ? 22 : Math.min(90, Math.max(...names[1].slice(0, 400).map((n) => pen.measureText(n).width)) + 12);
    const cell = Math.max(1, Math.min(m.columns <= 8 ? 88 : 56, (room - longest - 8) / m.columns, Math.max(300, innerHeight * 0.66) / m.rows));
    const width = room, height = Math.ceil(top + cell * m.rows + 4);
    layout = { left: longest, top, cell, m, row, head };
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = `${height}px`;
    pen.scale(ratio, ratio);
    pen.fillStyle = css("panel");
    pen.fillRect(0, 0, width, height);
    hatch(pen, longest, top, cell * m.columns, cell * m.rows);
    const image = new OffscreenCanvas(m.columns, m.rows);
    image.getContext("2d").putImageData(paint(row, head, m.columns, m.rows), 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(image, longest, top, cell * m.columns, cell * m.rows);
    pen.font = "12px Inter, system-ui, sans-serif";
    const each = Math.max(1, Math.ceil(14 / cell));
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    pen.fillStyle = css(down === "query" || down === "token" ? "query" : "key");
    names[0].forEach((name, i) => { if (i % each === 0) pen.fillText(short(name, pen, longest - 8), longest - 6, top + (i + 0.5) * cell); });
    pen.fillStyle = css(across === "key" ? "key" : "muted");
    names[1].forEach((name, j) => {
      if (j % each) return;
      pen.save();
      pen.translate(longest + (j + 0.5) * cell, top - 6);
      if (across === "feature") pen.textAlign = "center";
      else { pen.rotate(-Math.PI / 2); pen.textAlign = "left"; }
      pen.fillText(short(name, pen, 84), 0, 0);
      pen.restore();
    });
    if (cell >= 34) drawNumbers(pen);
    if (state.column !== null) outline(pen);
    canvas.setAttribute("aria-label", `${title(row)}, ${m.rows} × ${m.columns}`);
    drawBar(row, head);
  }
  function short(name, pen, room) {
    let text = name;
    while (text.length > 1 && pen.measureText(text).width > room) text = text.slice(0, -2) + "…";
    return text;
  }
  function hatch(pen, x, y, w, h) {
    pen.save();
    pen.beginPath();
    pen.rect(x, y, w, h);
    pen.clip();
    pen.strokeStyle = css("hatch");
    pen.lineWidth = 0.6;
    pen.beginPath();
    for (let at = -h; at < w; at += 6) { pen.moveTo(x + at, y + h); pen.lineTo(x + at + h, y); }
    pen.stroke();
    pen.restore();
  }
  function drawNumbers(pen) {
    const { left, top, cell, m, row, head } = layout;
    pen.font = `${Math.min(13, cell / 3.4)}px ui-monospace, Menlo, Consolas, monospace`;
    pen.textAlign = "center";
    for (let i = 0; i < m.rows; i++)
      for (let j = 0; j < m.columns; j++) {
        const v = m.value(i, j);
        if (hidden(row, i, j) || !Number.isFinite(v)) continue;
        const [r, g, b] = color(place(v, state.range === "row" ? ends(row, head, i) : ends(row, head), row.signed), row.signed);
        pen.fillStyle = 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000" : "#fff";
        pen.fillText(brief(v), left + (j + 0.5) * cell, top + (i + 0.5) * cell);
      }
  }
  function outline(pen) {
    const { left, top, cell, m } = layout;
    if (state.row >= m.rows || state.column >= m.columns) return;
    const box = [left + state.column * cell, top + state.row * cell, cell, cell];
    pen.lineWidth = 4;
    pen.strokeStyle = css("panel");
    pen.strokeRect(...box);
    pen.lineWidth = 2;
    pen.strokeStyle = css("ink");
    pen.strokeRect(...box);
  }
  function drawBar(row, head) {
    const [low, high] = state.range === "row" && state.row < row.shape.at(-2) ? ends(row, head, state.row) : ends(row, head);
    const pen = $("ramp").getContext("2d"), image = new ImageData(256, 1);
    for (let x = 0; x < 256; x++) image.data.set([...color(x / 255, row.signed), 255], x * 4);
    pen.putImageData(image, 0, 0);
    $("low").textContent = state.range === "log" && !row.signed ? shown(high * 1e-4) : shown(low);
    $("high").textContent = shown(high);
    $("quantity").textContent = title(row);
  }

  // --- one cell and its sources

  const title = (row) => row.titles[state.language];
  function regions(row, i, j) {
    const pick = (id, k) => ({ row: stage(id), ...([
      { same_cell: [i, j], projection: [i, null], row: [i, null], latent_key: [i, k ? j - site().d_head : null], relative: [[i, j], [i, null], [j, null]][k],
        pair: [i, (site().pairs || [])[j] ?? [j]], "qd,kd->qk": k ? [j, null] : [i, null], "qk,kd->qd": k ? [null, j] : [i, null],
        join_heads: [i, j % site().d_head], "qd,wd->qw": [i, null] }[row.rule] || [i, j],
    ].map(([a, b]) => ({ i: a, j: b }))[0]) });
    return row.reads.filter((id) => stage(id)).map(pick);
  }
  function drawCell() {
    const box = $("sources");
    box.replaceChildren();
    const row = stage(), head = headOf(row), m = matrix(row, head);
    if (state.column === null || state.row >= m.rows || state.column >= m.columns) {
      $("where").textContent = say("hover");
      $("value").textContent = "";
      drawWords(row, m);
      return;
    }
    const [i, j] = [state.row, state.column], [down, across] = row.axes.slice(-2);
    $("where").textContent = `${title(row)} [${labels(down, m.rows)[i]}, ${labels(across, m.columns)[j]}]`;
    const value = exact(m.value(i, j), row.type);
    $("value").textContent = hidden(row, i, j) ? `${value} · ${say("blocked")}` : value;
    const found = regions(row, i, j);
    const sums = { "qd,kd->qk": products, "qk,kd->qd": mixture, "qd,wd->qw": null }[row.rule];
    if (sums && found.length > 1) box.append(sums(found, i, j, m.value(i, j), row));
    for (const one of found) box.append(link(one, i));
    drawWords(row, m);
  }
  function sourceHead(source, target) {
    if (source.shape.length < 3) return 0;
    if (target.rule === "join_heads") return Math.floor(state.column / site().d_head);
    return source.axes[0] === "kv_head" && target.axes[0] === "head" ? Math.floor(state.head / site().group) : headOf(source);
  }
  function table(terms, sum, value) {
    const made = document.createElement("table");
    const line = (cells, name = "") => {
      const tr = made.insertRow();
      tr.className = name;
      cells.forEach((text, at) => {
        const cell = document.createElement(at ? "td" : "th");
        cell.textContent = text;
        tr.append(cell);
      });
    };
    const order = [...terms].sort((a, b) => Math.abs(b.product) - Math.abs(a.product));
    for (const term of order.slice(0, 12)) line([term.name, `${shown(term.a)} × ${shown(term.b)}`, shown(term.product)]);
    const rest = order.slice(12).reduce((total, term) => total + term.product, 0);
    if (order.length > 12) line([`+ ${order.length - 12}`, "", shown(rest)]);
    line(["Σ", "", shown(sum)], "sum");
    return made;
  }
  function products(found, i, j, value, target) {
    const [q, k] = found.map((one) => matrix(one.row, sourceHead(one.row, target)));
    const terms = [...Array(q.columns).keys()].map((d) => ({ name: String(d), a: q.value(i, d), b: k.value(j, d), product: q.value(i, d) * k.value(j, d) }));
    return table(terms, terms.reduce((total, term) => total + term.product, 0), value);
  }
  function mixture(found, i, j, value, target) {
    const [w, v] = found.map((one) => matrix(one.row, sourceHead(one.row, target)));
    const terms = site().keys.map((name, k) => ({ name, a: w.value(i, k), b: v.value(k, j), product: w.value(i, k) * v.value(k, j) }));
    return table(terms.filter((term) => term.a !== 0), terms.reduce((total, term) => total + term.product, 0), value);
  }
  function link({ row, i, j }) {
    const made = document.createElement("p"), button = document.createElement("button");
    button.className = "link";
    const at = (index, axis, count) => (index === null ? ":" : Array.isArray(index) ? index.join(", ") : labels(axis, count)[index] ?? index);
    const [rows, columns] = row.shape.slice(-2), [down, across] = row.axes.slice(-2);
    button.textContent = `← ${title(row)} [${at(i, down, rows)}, ${at(j, across, columns)}]`;
    button.onclick = () => {
      state.stage = row.id;
      state.row = i ?? 0;
      state.column = Array.isArray(j) ? j[0] : j ?? 0;
      state.locked = true;
      draw();
    };
    made.append(button);
    return made;
  }
  function drawWords(row, m) {
    const box = $("words");
    box.replaceChildren();
    $("over").textContent = "";
    if (row.axes.at(-1) !== "key" || row.signed) return;
    const i = Math.min(state.row, m.rows - 1);
    $("over").textContent = say("row").replace("{token}", site().queries[i]);
    const top = Math.max(...site().keys.map((_, k) => (hidden(row, i, k) ? 0 : m.value(i, k)))) || 1;
    site().keys.forEach((name, k) => {
      const word = document.createElement("span"), w = m.value(i, k);
      word.textContent = name;
      const [r, g, b] = [42, 103, 201];
      word.style.background = `rgba(${r}, ${g}, ${b}, ${(0.75 * w) / top})`;
      word.title = shown(w);
      if (k === state.column) word.setAttribute("aria-current", "true");
      word.onclick = () => { state.column = k; state.locked = true; draw(); };
      box.append(word);
    });
  }

  // --- the strip, the heads, the steps

  function drawStrip() {
    const strip = $("strip");
    strip.replaceChildren();
    for (const row of site().stages) {
      const button = document.createElement("button"), canvas = document.createElement("canvas");
      const m = matrix(row, headOf(row));
      [canvas.width, canvas.height] = [Math.min(88, Math.max(m.columns, 8)), Math.min(64, Math.max(m.rows, 8))];
      canvas.getContext("2d").putImageData(paint(row, headOf(row), canvas.width, canvas.height), 0, 0);
      button.setAttribute("aria-pressed", String(row.id === state.stage));
      button.append(canvas, title(row));
      button.onclick = () => { state.stage = row.id; state.column = null; state.locked = false; draw(); };
      strip.append(button);
    }
  }
  function drawHeads() {
    const box = $("heads"), row = stage();
    box.replaceChildren();
    if (row.shape.length < 3) return;
    for (let h = 0; h < site().heads; h++) {
      const button = document.createElement("button");
      button.textContent = say("head").replace("{n}", h + 1);
      button.setAttribute("aria-pressed", String(h === state.head));
      button.onclick = () => { state.head = h; draw(); };
      box.append(button);
    }
  }
  let timer = null;
  function drawSteps() {
    const steps = data.steps;
    $("steps").hidden = !steps.length;
    if (!steps.length) return;
    const slider = $("step"), box = $("text"), bars = $("next");
    slider.max = steps.length - 1;
    slider.value = state.step;
    $("play").textContent = timer ? "❚❚" : "▶";
    box.replaceChildren();
    steps.slice(0, state.step + 1).forEach((step, at) => {
      const word = document.createElement("span");
      word.textContent = step.token;
      if (step.p !== null) {
        word.style.background = `rgba(42, 103, 201, ${0.12 + 0.5 * step.p})`;
        word.title = shown(step.p);
      }
      if (at === state.step) word.setAttribute("aria-current", "true");
      word.onclick = () => { state.step = at; drawSteps(); };
      box.append(word);
    });
    bars.replaceChildren();
    for (const [token, p] of steps[state.step].next) {
      const name = document.createElement("span"), bar = document.createElement("i"), number = document.createElement("span");
      name.textContent = token;
      bar.style.width = `${100 * p}%`;
      number.textContent = shown(p);
      bars.append(name, bar, number);
    }
  }
  function play() {
    if (timer) { clearInterval(timer); timer = null; drawSteps(); return; }
    if (state.step >= data.steps.length - 1) state.step = -1;
    timer = setInterval(() => {
      state.step += 1;
      if (state.step >= data.steps.length - 1) { clearInterval(timer); timer = null; }
      drawSteps();
    }, 400);
  }

  // --- everything

  function draw() {
    document.documentElement.classList.toggle("dark", state.dark);
    document.documentElement.lang = state.language;
    document.querySelectorAll("[data-say]").forEach((one) => { one.textContent = say(one.dataset.say); });
    $("title").textContent = document.title = data.titles[state.language];
    $("caption").textContent = data.captions[state.language];
    const row = stage();
    $("stage").textContent = title(row);
    $("formula").textContent = row.formulas[state.language];
    $("note").textContent = row.type === "f2" ? say("half") : "";
    drawStrip();
    drawHeads();
    drawMap();
    drawCell();
    drawSteps();
  }
  function pick(event) {
    const box = $("map").getBoundingClientRect(), { left, top, cell, m } = layout;
    const j = Math.floor((event.clientX - box.left - left) / cell), i = Math.floor((event.clientY - box.top - top) / cell);
    return i >= 0 && j >= 0 && i < m.rows && j < m.columns ? [i, j] : null;
  }
  function point(found) {
    [state.row, state.column] = found || [state.row, null];
    drawMap();
    drawCell();
  }
  $("map").addEventListener("mousemove", (event) => { if (!state.locked) { const found = pick(event); if (found) point(found); } });
  $("map").addEventListener("mouseleave", () => { if (!state.locked && state.column !== null) point(null); });
  $("map").addEventListener("click", (event) => {
    const found = pick(event), same = found && state.locked && found[0] === state.row && found[1] === state.column;
    state.locked = Boolean(found) && !same;
    if (found) point(found);
  });
  $("map").addEventListener("keydown", (event) => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Escape") { state.locked = false; point(null); }
    if (!by) return;
    event.preventDefault();
    state.locked = true;
    const at = (v, n) => Math.max(0, Math.min(n - 1, v));
    point([at(state.row + by[0], layout.m.rows), at((state.column ?? -1) + by[1], layout.m.columns)]);
  });
  data.sites.forEach((one, at) => $("site").append(new Option("", at)));
  $("site").hidden = data.sites.length < 2;
  $("site").onchange = (event) => {
    state.site = Number(event.target.value);
    if (!stage()) state.stage = "weights";
    state.head = Math.min(state.head, site().heads - 1);
    state.column = null;
    draw();
  };
  for (const id of ["row", "head", "all", "log"]) $("range").append(new Option("", id));
  $("range").onchange = (event) => { state.range = event.target.value; draw(); };
  const named = () => {
    [...$("site").options].forEach((one, at) => { one.textContent = data.sites[at].titles[state.language]; });
    [...$("range").options].forEach((one) => { one.textContent = say(`range_${one.value}`); });
    $("range").value = state.range;
    $("site").value = String(state.site);
    $("language").textContent = state.language === "en" ? "中文" : "English";
  };
  $("language").onclick = () => { state.language = state.language === "en" ? "zh_CN" : "en"; named(); draw(); };
  $("theme").onclick = () => { state.dark = !state.dark; draw(); };
  $("step").oninput = (event) => { state.step = Number(event.target.value); drawSteps(); };
  $("play").onclick = play;
  addEventListener("resize", () => { drawMap(); });
  named();
  draw();
  document.documentElement.dataset.ready = "true";
})();
