// --- one cell and its sources

// Rows and columns of each input that a cell is computed from; null is all of them.
const SOURCES = {
  same_cell: (i, j) => [i, j],
  projection: (i) => [i, null],
  row: (i) => [i, null],
  // The first features of a key come from the latent, the others from the key that RoPE rotates.
  latent_key: (i, j, k) => {
    const own = j - site().d_head;
    if (own < 0) return k ? null : [i, null];
    return k ? [i, own] : null;
  },
  relative: (i, j, k) => [[i, j], [i, null], [j, null]][k],
  pair: (i, j) => [i, (site().pairs || [])[j] ?? [j]],
  "qd,kd->qk": (i, j, k) => (k ? [j, null] : [i, null]),
  "qk,kd->qd": (i, j, k) => (k ? [null, j] : [i, null]),
  join_heads: (i, j) => [i, j % site().d_head],
  "qd,wd->qw": (i, j, k, row) => (k ? [row.places[j], null] : [i, null]),
  routed: (i, j, k, row) => {
    if (k) return row.places[j] === null ? null : [i, row.places[j]];
    return j < stage(row.reads[0]).shape.at(-1) ? [i, j] : null;
  },
};
function regions(row, i, j) {
  if (row.id === "mixed" && site().off.includes(state.head)) return [];
  const pick = SOURCES[row.pattern] || SOURCES.same_cell;
  return row.reads.map((id, k) => ({ row: stage(id), k })).filter((one) => one.row)
    .map((one) => ({ ...one, at: pick(i, j, one.k, row) })).filter((one) => one.at);
}
function sourceHead(source, target) {
  if (source.shape.length < 3) return 0;
  if (target.pattern === "join_heads") return Math.floor(state.column / site().d_head);
  return source.axes[0] === "kv_head" && target.axes[0] === "head" ? Math.floor(state.head / site().group) : headOf(source);
}
// Without a chosen cell, the number of the row that the picture marks: its strongest key; null for other stages.
function strongestOf(m) {
  const { row } = m;
  if (!isLined(row) || row.signed || state.row >= m.rows) return null;
  const isOff = Boolean(row.first_off?.[m.head]);
  let best = null;
  for (let j = isOff ? 1 : 0; j < present(row.axes.at(-1), m.columns); j += 1) {
    if (!m.hidden(state.row, j) && (best === null || m.value(state.row, j) > m.value(state.row, best))) best = j;
  }
  return best;
}
let cells = 0;
async function drawCell(m) {
  const turn = ++cells, box = $("sources"), { row } = m;
  drawWords(m);
  $("hint").textContent = state.column === null ? say(state.picture === "arcs" ? "hover_arcs" : "hover") : "";
  const i = state.row, j = state.column ?? strongestOf(m), [down, across] = row.axes.slice(-2);
  if (j === null || i >= m.rows || j >= m.columns) {
    $("where").textContent = "";
    $("value").textContent = "";
    box.replaceChildren();
    return;
  }
  $("where").textContent = `${title(row)} [${labels(down, m.rows)[i]}, ${labels(across, m.columns)[j]}]`;
  const value = exact(m.value(i, j), row.type);
  $("value").textContent = m.hidden(i, j) ? `${value} · ${say("blocked")}` : value;
  const found = regions(row, i, j), sums = { "qd,kd->qk": products, "qk,kd->qd": mixture }[row.pattern];
  const made = [];
  if (sums && found.length > 1) {
    const pair = await Promise.all(found.map((one) => matrix(one.row, sourceHead(one.row, row))));
    if (turn !== cells) return;
    made.push(table(sums(pair, i, j)));
  }
  box.replaceChildren(...made, ...found.map((one) => link(one)));
}
function products([q, k], i, j) {
  return Array.from({ length: q.columns }, (_, d) => ({ name: String(d), a: q.value(i, d), b: k.value(j, d) }));
}
function mixture([w, v], i, j) {
  return site().keys.map((name, k) => ({ name, a: w.value(i, k), b: v.value(k, j) })).filter((term) => term.a !== 0);
}
function table(terms) {
  const made = document.createElement("table"), product = (term) => term.a * term.b;
  const line = (texts, name = "") => {
    const tr = made.insertRow();
    tr.className = name;
    texts.forEach((text, at) => {
      const cell = document.createElement(at ? "td" : "th");
      cell.textContent = text;
      tr.append(cell);
    });
  };
  const order = [...terms].sort((a, b) => Math.abs(product(b)) - Math.abs(product(a)));
  for (const term of order.slice(0, 12)) line([term.name, `${shown(term.a)} × ${shown(term.b)}`, shown(product(term))]);
  const sum = (list) => list.reduce((total, term) => total + product(term), 0);
  if (order.length > 12) line([`… ${order.length - 12}`, "", shown(sum(order.slice(12)))]);
  line(["Σ", "", shown(sum(terms))], "sum");
  return made;
}
function link({ row, at: [i, j] }) {
  const made = document.createElement("p"), button = document.createElement("button");
  button.className = "link";
  const name = (index, axis, count) => (index === null ? ":" : Array.isArray(index) ? index.join(", ") : labels(axis, count)[index] ?? index);
  const [rows, columns] = row.shape.slice(-2), [down, across] = row.axes.slice(-2);
  button.textContent = `← ${title(row)} [${name(i, down, rows)}, ${name(j, across, columns)}]`;
  button.onclick = () => {
    Object.assign(state, { stage: row.id, row: i ?? 0, column: Array.isArray(j) ? j[0] : j ?? 0, locked: true });
    draw();
  };
  made.append(button);
  return made;
}
function drawWords(m) {
  const box = $("words"), { row } = m;
  $("over").textContent = "";
  if (row.axes.at(-1) !== "key" || row.signed) { box.replaceChildren(); return; }
  const i = clamp(state.row, m.rows), count = present("key", m.columns);
  $("over").textContent = say("row", { token: site().queries[i] });
  const weights = site().keys.slice(0, count).map((_, k) => (m.hidden(i, k) ? 0 : m.value(i, k) || 0));
  const top = weights.reduce((a, b) => Math.max(a, b), 0) || 1;
  box.replaceChildren(...weights.map((weight, k) => {
    const word = document.createElement("span");
    word.textContent = site().keys[k];
    word.style.background = `rgba(42, 103, 201, ${(0.75 * weight) / top})`;
    word.title = shown(m.value(i, k));
    if (k === state.column) word.setAttribute("aria-current", "true");
    word.onclick = () => { Object.assign(state, { row: i, column: k, locked: true }); draw(); };
    return word;
  }));
}
