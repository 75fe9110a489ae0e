// --- the map

const FONT = '"Attnviz Sans", "Attnviz Sans SC", system-ui, sans-serif';
const MONO = '"Attnviz Mono", "Attnviz Sans SC", ui-monospace, Menlo, Consolas, monospace';
// Pixels of a cell in which NaN is a cross and infinity lines; in a smaller one they are its colour alone.
const MARKED = 8;
// The smallest letters of a number in its cell.
const LEAST_PX = 8;
let layout = null;

function sized(canvas, width, height) {
  const ratio = devicePixelRatio || 1, pen = canvas.getContext("2d");
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  pen.scale(ratio, ratio);
  pen.fillStyle = css("panel");
  pen.fillRect(0, 0, width, height);
  return pen;
}
const roomOf = (element) => element.parentElement.clientWidth - 32;
// The picture, its names above it and its colours below fit into the window if half of that is enough for them.
function heightFor(canvas, names) {
  const above = canvas.getBoundingClientRect().top + scrollY + names;
  return Math.max(300, innerHeight * 0.5, innerHeight - above - 80);
}
function drawMap(m) {
  const canvas = $("map"), { row } = m;
  const [down, across] = row.axes.slice(-2), names = [labels(down, m.rows), labels(across, m.columns)];
  const rows = present(down, m.rows), columns = present(across, m.columns);
  const ruler = canvas.getContext("2d"), room = roomOf(canvas);
  ruler.font = `12px ${FONT}`;
  const widest = (list) => Math.max(...list.slice(0, 400).map((name) => ruler.measureText(name).width));
  const left = Math.min(110, widest(names[0]) + 10);
  const top = across === "feature" ? 22 : Math.min(90, widest(names[1]) + 12);
  const most = columns <= 8 ? 88 : 56, tall = heightFor(canvas, top) / rows, wide = (room - left - 8) / columns;
  const square = Math.max(1, Math.min(most, wide, tall));
  // Features are few beside the tokens of a long text: their cells are wider than tall.
  const cell = [across === "key" ? square : Math.max(square, Math.min(wide, 40)), square];
  const pen = sized(canvas, room, Math.ceil(top + cell[1] * rows + 4));
  layout = { left, top, cell, m };
  hatch(pen, left, top, cell[0] * columns, cell[1] * rows);
  const image = new OffscreenCanvas(columns, rows);
  image.getContext("2d").putImageData(paint(m, columns, rows), 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(image, left, top, cell[0] * columns, cell[1] * rows);
  if (Math.min(...cell) >= MARKED) drawMarks(pen, oddOf(m, rows, columns));
  drawNames(pen, names, [rows, columns], [down, across]);
  if (Math.min(cell[0], 2 * cell[1]) >= 34) drawNumbers(pen, rows, columns);
  if (state.column !== null) outline(pen);
  canvas.setAttribute("aria-label", join("phrased", title(row), `${rows} × ${columns}`));
}
// Characters that stand upright, one below the other, where other names are rotated.
const WIDE = /^[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]+\u2026?$/u;
function drawNames(pen, names, counts, [down, across]) {
  const { left, top, cell } = layout, each = cell.map((length) => Math.max(1, Math.ceil(14 / length)));
  pen.font = `12px ${FONT}`;
  if (across === "feature") each[0] = niceStep((pen.measureText(counts[1] - 1).width + 8) / cell[0]);
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  pen.fillStyle = css(down === "query" || down === "token" ? "query" : "key");
  for (let i = 0; i < counts[0]; i += each[1]) pen.fillText(short(names[0][i], pen, left - 8), left - 6, top + (i + 0.5) * cell[1]);
  pen.fillStyle = css(across === "key" ? "key" : "muted");
  for (let j = 0; j < counts[1]; j += each[0]) {
    const text = short(names[1][j], pen, 84), letters = Array.from(text).reverse();
    pen.save();
    pen.translate(left + (j + 0.5) * cell[0], top - 6);
    pen.textAlign = "center";
    if (across === "feature") pen.fillText(text, 0, 0);
    else if (letters.length === 1 || WIDE.test(text)) letters.forEach((letter, i) => pen.fillText(letter, 0, -12 * i - 2));
    else { pen.rotate(-Math.PI / 2); pen.textAlign = "left"; pen.fillText(text, 0, 0); }
    pen.restore();
  }
}
// The smallest of 1, 2, 5, 10, 20, 50, … that is at least `least`.
function niceStep(least) {
  for (let power = 1; ; power *= 10) for (const factor of [1, 2, 5]) if (factor * power >= least) return factor * power;
}
function short(name, pen, room) {
  let letters = Array.from(name), text = name;
  while (letters.length > 1 && pen.measureText(text).width > room) {
    letters = letters.slice(0, -1);
    text = letters.join("") + "…";
  }
  return text;
}
function within(pen, x, y, w, h, draw) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, w, h);
  pen.clip();
  draw();
  pen.restore();
}
function hatch(pen, x, y, w, h) {
  within(pen, x, y, w, h, () => {
    pen.strokeStyle = css("hatch");
    pen.lineWidth = 0.6;
    pen.beginPath();
    for (let at = -h; at < w; at += 6) { pen.moveTo(x + at, y + h); pen.lineTo(x + at + h, y); }
    pen.stroke();
  });
}
// The cells that are seen and have no finite number.
function oddOf(m, rows, columns) {
  const found = [];
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) if (!Number.isFinite(m.value(i, j)) && !m.hidden(i, j)) found.push([i, j, m.value(i, j)]);
  return found;
}
function drawMarks(pen, found) {
  const { left, top, cell: [w, h] } = layout;
  for (const [i, j, v] of found) {
    const x = left + j * w, y = top + i * h;
    pen.fillStyle = css("panel");
    pen.fillRect(x, y, w, h);
    pen.strokeStyle = css(markOf(v));
    pen.lineWidth = 1;
    pen.beginPath();
    if (Number.isNaN(v)) { pen.moveTo(x, y); pen.lineTo(x + w, y + h); pen.moveTo(x, y + h); pen.lineTo(x + w, y); }
    else for (let at = 2.5; at < h; at += 5) { pen.moveTo(x, y + at); pen.lineTo(x + w, y + at); }
    pen.stroke();
  }
}
function drawNumbers(pen, rows, columns) {
  const { left, top, cell, m } = layout, table = tableOf(m.row.signed);
  const isShown = (i, j) => !m.hidden(i, j) && Number.isFinite(m.value(i, j));
  let letters = 1;
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) if (isShown(i, j)) letters = Math.max(letters, brief(m.value(i, j)).length);
  pen.font = `13px ${MONO}`;
  const px = Math.min(13, 13 * (cell[0] - 6) / pen.measureText("0".repeat(letters)).width);
  if (px < LEAST_PX) return;
  pen.font = `${px}px ${MONO}`;
  pen.textAlign = "center";
  for (let i = 0; i < rows; i++) {
    const range = ends(m, i);
    for (let j = 0; j < columns; j++) {
      if (!isShown(i, j)) continue;
      const v = m.value(i, j);
      const [r, g, b] = rgbOf(table[indexOf(place(v, range, m.row.signed))]);
      pen.fillStyle = 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000" : "#fff";
      pen.fillText(brief(v), left + (j + 0.5) * cell[0], top + (i + 0.5) * cell[1]);
    }
  }
}
function outline(pen) {
  const { left, top, cell, m } = layout;
  if (state.row >= m.rows || state.column >= m.columns) return;
  const box = [left + state.column * cell[0], top + state.row * cell[1], ...cell];
  pen.lineWidth = 4;
  pen.strokeStyle = css("panel");
  pen.strokeRect(...box);
  pen.lineWidth = 2;
  pen.strokeStyle = css("ink");
  pen.strokeRect(...box);
}
function drawBar(m) {
  const { row } = m, [low, high] = ends(m, clamp(state.row, m.rows));
  const pen = $("ramp").getContext("2d"), image = new ImageData(256, 1);
  new Uint32Array(image.data.buffer).set(tableOf(row.signed));
  pen.putImageData(image, 0, 0);
  $("low").textContent = state.range === "log" && !row.signed ? shown(high * 1e-4) : shown(low);
  $("high").textContent = shown(high);
  $("quantity").textContent = title(row);
  const [down, across] = row.axes.slice(-2), counts = [present(down, m.rows), present(across, m.columns)];
  $("masked").hidden = !m.cells;
  const odd = oddOf(m, ...counts), nan = odd.filter(([, , v]) => Number.isNaN(v)).length;
  for (const [id, count] of [["nan", nan], ["infinite", odd.length - nan]]) {
    $(id).hidden = !count;
    $(id).lastElementChild.textContent = say(id, { count });
  }
}
