// --- lines over the words: queries at the left, keys at the right, a line for each weight in the hue of its head

const ROW = 24, HEADING = 28;
let words = null;

const hueOf = (head) => data.lines.hues[head % data.lines.hues.length];
const isAll = (row) => state.from === "all" && row.shape.at(-1) * row.shape.at(-2) <= data.lines.cells;
function lineHeads(row) {
  return state.of === "all" ? Array.from({ length: row.shape[0] }, (_, head) => head) : [headOf(row)];
}
// The lines of several heads: weights of at least a share of the largest; of too many, the strongest; strongest last.
function strongest(several, row) {
  const found = [], [down, across] = row.axes.slice(-2);
  const rows = present(down, row.shape.at(-2)), columns = present(across, row.shape.at(-1));
  const [from, to] = isAll(row) ? [0, rows] : [clamp(state.row, rows), clamp(state.row, rows) + 1];
  let largest = 0;
  for (const m of several) for (let i = from; i < to; i++) for (let j = 0; j < columns; j++) largest = Math.max(largest, m.value(i, j) || 0);
  for (const m of several)
    for (let i = from; i < to; i++)
      for (let j = 0; j < columns; j++) {
        const weight = m.value(i, j);
        if (weight > 0 && weight >= data.lines.least * largest) found.push({ head: m.head, i, j, weight });
      }
  found.sort((a, b) => a.weight - b.weight);
  return { lines: found.slice(-data.lines.most), largest: largest || 1 };
}
function drawLines(several) {
  const box = $("lines"), canvas = box.firstElementChild, { row } = several[0];
  const [down, across] = row.axes.slice(-2), names = [site().queries, site().keys];
  const counts = [present(down, names[0].length), present(across, names[1].length)];
  const width = roomOf(box), whole = HEADING + ROW * Math.max(names[0].length, names[1].length) + 8;
  const height = Math.min(whole, Math.round(heightFor(box, 0)));
  box.style.height = `${height}px`;
  box.lastElementChild.style.height = `${whole - height}px`;
  const pen = sized(canvas, width - (whole > height ? 16 : 0), height), inside = width - (whole > height ? 16 : 0);
  const number = several.length === 1 ? 64 : 0, left = Math.round(inside * 0.3), right = Math.round(inside * 0.7);
  words = { left, right, several, scroll: box.scrollTop, ...strongest(several, row), counts };
  const y = (at) => HEADING + (at + 0.5) * ROW - words.scroll;
  drawCurves(pen, y);
  pen.textBaseline = "middle";
  drawColumn(pen, names[0], counts[0], "query", left, "right", left - 16, y, height);
  drawColumn(pen, names[1], counts[1], "key", right, "left", inside - right - 16 - number, y, height);
  if (number) drawShares(pen, several[0], counts[1], inside - 8, y, height);
  pen.fillStyle = css("panel");
  pen.fillRect(0, 0, inside, HEADING - 4);
  pen.font = `12px ${FONT}`;
  pen.fillStyle = css("query");
  pen.textAlign = "right";
  pen.fillText(say("queries"), left - 6, 12);
  pen.fillStyle = css("key");
  pen.textAlign = "left";
  pen.fillText(say("keys"), right + 6, 12);
  const shape = `${names[0].length} × ${names[1].length}`;
  box.setAttribute("aria-label", join("named", say("view_lines"), join("phrased", title(row), shape)));
}
function drawCurves(pen, y) {
  const { left, right, lines, largest } = words, bend = 0.4 * (right - left);
  for (const { head, i, j, weight } of lines) {
    const strength = weight / largest, isPicked = i === state.row && j === state.column;
    pen.strokeStyle = hueOf(head);
    pen.globalAlpha = Math.max(0.04, strength);
    pen.lineWidth = Math.max(0.8, 4 * strength) + (isPicked ? 1.5 : 0);
    pen.beginPath();
    pen.moveTo(left, y(i));
    pen.bezierCurveTo(left + bend, y(i), right - bend, y(j), right, y(j));
    pen.stroke();
  }
  pen.globalAlpha = 1;
}
// The words of one side; behind a key the share that the selected query gives it.
function drawColumn(pen, names, count, kind, x, align, room, y, height) {
  const isKey = kind === "key", sign = isKey ? 1 : -1, { several, largest } = words;
  pen.textAlign = align;
  for (let at = 0; at < count; at++) {
    const middle = y(at);
    if (middle < 0 || middle > height + ROW) continue;
    const isPicked = at === (isKey ? state.column : state.row);
    pen.font = `${isPicked ? 600 : 400} 14px ${FONT}`;
    const text = short(names[at], pen, room), wide = pen.measureText(text).width + 8;
    const share = isKey ? Math.max(...several.map((m) => m.value(clamp(state.row, m.rows), at) || 0)) / largest : 0;
    if (share > 0.01) {
      pen.globalAlpha = 0.45 * Math.min(1, share);
      pen.fillStyle = several.length === 1 ? hueOf(several[0].head) : css("key");
      pen.fillRect(x + 2, middle - ROW / 2 + 2, wide, ROW - 4);
      pen.globalAlpha = 1;
    }
    if (isPicked) {
      pen.strokeStyle = css("ink");
      pen.lineWidth = 1.5;
      pen.strokeRect(isKey ? x + 2 : x - 2 - wide, middle - ROW / 2 + 2, wide, ROW - 4);
    }
    pen.fillStyle = css(kind);
    pen.fillText(text, x + 6 * sign, middle);
  }
}
// The numbers of the selected query, one head at a time: those of several heads are in the panel beside.
function drawShares(pen, m, count, x, y, height) {
  pen.font = `12px ${MONO}`;
  pen.textAlign = "right";
  pen.fillStyle = css("muted");
  const i = clamp(state.row, m.rows);
  for (let j = 0; j < count; j++)
    if (y(j) > 0 && y(j) < height + ROW) pen.fillText(m.hidden(i, j) ? "" : brief(m.value(i, j)), x, y(j));
}
// Scroll until the selected query, or a key that was moved to, is in sight.
function reveal(at) {
  const box = $("lines"), y = at * ROW;
  if (y < box.scrollTop) box.scrollTop = y;
  else if (y + 2 * ROW + HEADING > box.scrollTop + box.clientHeight) box.scrollTop = y + 2 * ROW + HEADING - box.clientHeight;
}
// The query or the key under the pointer.
function pickedWord(event) {
  const box = $("lines").getBoundingClientRect();
  if (!words || event.clientY - box.top < HEADING - 4) return null;
  const x = event.clientX - box.left, at = Math.floor((event.clientY - box.top + $("lines").scrollTop - HEADING) / ROW);
  const isKey = x > (words.left + words.right) / 2;
  return at >= 0 && at < words.counts[Number(isKey)] ? (isKey ? [state.row, at] : [at, null]) : null;
}
