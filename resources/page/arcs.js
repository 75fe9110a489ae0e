// --- arcs over the sentence: from the selected query to its keys, as thick as their weights, in the hue of the head

const THICK = 15, LINE_GAP = 0.8, LEAST_RISE = 44, MOST_RISE = 240, MOST_SPACE = 72;
const IN_SVG = "http://www.w3.org/2000/svg";
let arcs = null;

function fillWords(box, words, count) {
  if (box.words !== words) {
    box.words = words;
    box.replaceChildren(...words.map(([text, isApart]) => {
      const word = document.createElement("span");
      word.textContent = text;
      word.classList.toggle("apart", isApart);
      word.classList.toggle("sign", /^<.+>$/.test(text));
      return word;
    }));
  }
  [...box.children].forEach((word, at) => { word.hidden = at >= count; });
}
// The browser breaks the lines: places are where it put the words, and `tops` the upper ends of their lines.
function placesOf(box) {
  const origin = box.getBoundingClientRect();
  const boxes = sentences().map((one) => [...one.children].filter((word) => !word.hidden).map((word) => word.getBoundingClientRect()));
  const tops = [...new Set(boxes.flat().map(({ top }) => Math.round(top - origin.top)))].sort((a, b) => a - b);
  const rows = boxes.map((list) => list.map(({ left, right, top }) => (
    { left: left - origin.left, right: right - origin.left, row: tops.indexOf(Math.round(top - origin.top)) })));
  const middles = rows.flat().map(middleOf);
  return { queries: rows[0], keys: rows.at(-1), tops, line: boxes[0][0].height, rise: parseFloat(box.style.getPropertyValue("--rise")),
    longest: Math.max(1, ...middles) - Math.min(...middles) };
}
const middleOf = ({ left, right }) => (left + right) / 2;
const sentences = () => [...$("arcs").querySelectorAll(".sentence")].filter((one) => !one.hidden);
// Four points of a Bézier curve, as in the window and in figures.
function curveOf({ queries, keys, tops, line, rise, longest }, query, key) {
  const start = queries[query], end = keys[key];
  let x = middleOf(start), to = middleOf(end);
  if (start.row === end.row) {
    const y = tops[start.row], most = Math.min(rise, 0.9 * (y - (start.row ? tops[start.row - 1] + line : 0)));
    let up = most * Math.sqrt(Math.min(1, Math.abs(x - to) / Math.max(1, longest)));
    if (query === key) {
      const aside = 0.3 * (start.right - start.left);
      [x, to, up] = [x - aside, to + aside, 0.28 * most];
    }
    const top = y - (up * 4) / 3;
    return [[x, y], [x, top], [to, top], [to, y]];
  }
  const isDown = start.row < end.row, y = tops[start.row] + (isDown ? line : 0), below = tops[end.row] + (isDown ? 0 : line);
  return [[x, y], [x, (y + below) / 2], [to, (y + below) / 2], [to, below]];
}
// The point of an arc for its number: its highest one, or, where lines of words lie between its ends, the gap between
// two lines that is nearest to its middle.
function peakOf(places, query, key) {
  const points = curveOf(places, query, key), { tops, line } = places;
  const at = (t, axis) => [1, 3, 3, 1].reduce((sum, times, n) => sum + times * (1 - t) ** (3 - n) * t ** n * points[n][axis], 0);
  const rows = [places.queries[query].row, places.keys[key].row].sort((a, b) => a - b);
  if (rows[1] - rows[0] < 2) return [at(0.5, 0), at(0.5, 1)];
  const gaps = tops.slice(rows[0], rows[1]).map((top, n) => (top + line + tops[rows[0] + n + 1]) / 2), middle = at(0.5, 1);
  const goal = gaps.reduce((best, gap) => (Math.abs(gap - middle) < Math.abs(best - middle) ? gap : best));
  let [low, high] = [0, 1];
  for (let step = 0; step < 30; step += 1) {
    const t = (low + high) / 2;
    if (at(t, 1) < goal === at(1, 1) > at(0, 1)) low = t; else high = t;
  }
  return [at(low, 0), at(low, 1)];
}
// The words first, then the height of the arcs: what the lines of words leave of the window.
function layWords(box, row) {
  const [down, across] = row.axes.slice(-2), [upper, lower] = box.querySelectorAll(".sentence");
  lower.hidden = site().is_one;
  fillWords(upper, site().sentences[0], present(down, site().sentences[0].length));
  if (!site().is_one) fillWords(lower, site().sentences[1], present(across, site().sentences[1].length));
  for (const one of sentences()) one.style.setProperty("--space", "0px");
  const { tops, line, queries } = placesOf(box), count = tops.length;
  for (const one of sentences()) {
    const seen = [...one.children].filter((word) => !word.hidden), ends = [seen[0], seen.at(-1)].map((word) => word.getBoundingClientRect());
    const apart = seen.filter((word, at) => at && word.classList.contains("apart")).length, spaces = apart || seen.length - 1;
    one.classList.toggle("even", !apart);
    const free = one.clientWidth - (ends[1].right - ends[0].left) - 16;
    if (count === sentences().length && spaces && free > 0) one.style.setProperty("--space", `${Math.min(MOST_SPACE, free / spaces)}px`);
  }
  const above = Number(site().is_one && queries[clamp(state.row, queries.length)].row === 0), gaps = above + LINE_GAP * (count - 1);
  const free = (heightFor(box, 0) - count * line - 24) / (gaps || 1);
  const rise = Math.max(LEAST_RISE, Math.min(MOST_RISE, 0.3 * box.clientWidth, free));
  box.style.setProperty("--rise", `${rise}px`);
  box.style.setProperty("--first", `${above * rise}px`);
  return placesOf(box);
}
function drawArcs(several) {
  const box = $("arcs"), { row } = several[0], svg = box.firstElementChild, peak = $("peak");
  arcs = layWords(box, row);
  const i = clamp(state.row, arcs.queries.length), isOff = Boolean(row.first_off?.[several[0].head]);
  const isHidden = (j) => several[0].hidden(i, j), meanOf = (j) => several.reduce((sum, m) => sum + m.value(i, j), 0) / several.length;
  const counted = arcs.keys.map((_, j) => (isHidden(j) || (isOff && !j) ? -1 : meanOf(j)));
  const strongest = counted.indexOf(Math.max(...counted));
  const found = several.flatMap((m) => arcs.keys.map((_, j) => ({ m, j, weight: m.value(i, j) })))
    .filter(({ j, weight }) => !isHidden(j) && weight > 0 && !(isOff && !j)).sort((a, b) => a.weight - b.weight);
  const faint = css(state.dark ? "hatch" : "line");
  const made = found.map(({ m, j, weight }) => arc(i, j, weight >= data.arcs.strong ? hueOf(m.head) : faint,
    THICK * Math.max(data.arcs.least, Math.min(1.5, weight))));
  if (isOff && !isHidden(0)) {
    made.unshift(arc(i, 0, css("hatch"), 1));
    made[0].setAttribute("stroke-dasharray", "4 3");
  }
  svg.replaceChildren(...made);
  const best = found.filter(({ j }) => j === strongest).at(-1);
  peak.hidden = !best;
  if (best) {
    const [left, top] = peakOf(arcs, i, strongest);
    Object.assign(peak.style, { left: `${left}px`, top: `${top}px`, borderColor: hueOf(best.m.head) });
    peak.textContent = brief(best.weight);
  }
  markWords(i, strongest, isOff, isHidden, meanOf);
  $("first_off").hidden = !isOff;
  $("first_off").textContent = isOff ? say("first_off", { share: brief(meanOf(0)) }) : "";
  box.setAttribute("aria-label", join("named", say("view_arcs"), title(row)));
}
function arc(query, key, color, width) {
  const path = document.createElementNS(IN_SVG, "path"), [start, ...rest] = curveOf(arcs, query, key);
  const values = { d: `M${start} C${rest.join(" ")}`, stroke: color, "stroke-width": width, fill: "none", "data-key": key };
  for (const [name, value] of Object.entries(values)) path.setAttribute(name, value);
  return path;
}
function markWords(query, strongest, isOff, isHidden, meanOf) {
  const boxes = sentences(), isOne = boxes.length === 1;
  [...boxes[0].children].forEach((word, at) => word.classList.toggle("query", at === query));
  [...boxes.at(-1).children].forEach((word, at) => {
    word.classList.toggle("key", at === strongest && !(isOne && at === query));
    word.classList.toggle("off", !word.hidden && (isHidden(at) || (isOff && !at)));
    word.title = word.hidden || isHidden(at) ? "" : shown(meanOf(at));
    word.toggleAttribute("aria-current", at === state.column);
  });
}
// A click on a query selects it; of one sentence every word is one, and its arcs lead to its cells.
function pickedArc(event) {
  const path = event.target.closest("path"), word = event.target.closest(".sentence span");
  if (path) return [clamp(state.row, arcs.queries.length), Number(path.dataset.key)];
  if (!word || !arcs) return null;
  const at = [...word.parentElement.children].indexOf(word), isQuery = word.parentElement === sentences()[0];
  if (isQuery && event.type === "click") return [at, null];
  return isQuery && !site().is_one ? null : [clamp(state.row, arcs.queries.length), at];
}
