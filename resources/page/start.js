// --- everything

let turns = 0, current = null;
async function draw() {
  const turn = ++turns, isCurrent = () => turn === turns, row = stage();
  delete document.documentElement.dataset.ready;
  document.documentElement.classList.toggle("dark", state.dark);
  document.documentElement.lang = state.language.replace("_", "-");
  $("title").textContent = data.titles[state.language];
  document.title = data.titles[state.language] || "attnviz";
  $("caption").textContent = data.captions[state.language];
  $("in_program").textContent = data.has_controls ? say("in_program") : "";
  $("sum").hidden = !data.sum[state.language];
  $("sum").innerHTML = data.sum[state.language]; // made with the page: its texts are escaped
  $("strip").hidden = site().stages.length < 2;
  $("stage").textContent = title(row);
  $("formula").textContent = row.formulas[state.language];
  $("note").textContent = notes(row).join("\n");
  drawLists();
  drawStrip();
  drawHeads();
  drawSteps();
  const m = await matrix(row, headOf(row));
  if (!isCurrent()) return;
  current = m;
  for (const id of LISTS.picture) $(id).hidden = state.picture !== id;
  $("bar").hidden = isOfWords();
  $("first_off").hidden = true;
  drawBar(m);
  await Promise.all([drawCell(m), drawPicture(isCurrent)]);
  if (state.picture === "lines") reveal(state.row);
  if (!isCurrent()) return;
  document.documentElement.dataset.ready = "true";
  paintStrip(isCurrent);
}
function notes(row) {
  const left = site().left_out;
  return [row.type === "f2" ? say("half") : "", left ? say("left_out", { n: left }) : ""].filter(Boolean);
}
async function drawPicture(isCurrent = () => true) {
  if (state.picture === "map") drawMap(current);
  if (state.picture === "grid") drawGrid(isCurrent);
  if (isOfWords()) {
    const row = stage(), several = await Promise.all(lineHeads(row).map((head) => matrix(row, head)));
    if (isCurrent()) (state.picture === "lines" ? drawLines : drawArcs)(several);
  }
}
function point(found) {
  [state.row, state.column] = found || [state.row, null];
  if (!current) return;
  drawPicture();
  drawCell(current);
  if (state.range === "row") drawBar(current);
}
function pickedCell(event) {
  const box = $("map").getBoundingClientRect(), { left, top, cell, m } = layout, [down, across] = m.row.axes.slice(-2);
  const j = Math.floor((event.clientX - box.left - left) / cell[0]), i = Math.floor((event.clientY - box.top - top) / cell[1]);
  return i >= 0 && j >= 0 && i < present(down, m.rows) && j < present(across, m.columns) ? [i, j] : null;
}
const isHere = (found) => found[0] === state.row && found[1] === state.column;
for (const [id, pick] of [["map", pickedCell], ["lines", pickedWord], ["arcs", pickedArc]]) {
  $(id).addEventListener("mousemove", (event) => {
    const found = state.locked ? null : pick(event);
    if (found && !isHere(found)) point(found);
  });
  $(id).addEventListener("mouseleave", () => { if (!state.locked && state.column !== null) point(null); });
  $(id).addEventListener("click", (event) => {
    const found = pick(event);
    const isKept = found && (id !== "arcs" || found[1] !== null); // another query, whose keys the pointer still shows
    state.locked = Boolean(isKept) && !(state.locked && isHere(found));
    if (found) point(found);
  });
  $(id).addEventListener("keydown", (event) => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Escape") { state.locked = false; point(null); }
    if (!by) return;
    event.preventDefault();
    state.locked = true;
    const [down, across] = current.row.axes.slice(-2);
    point([clamp(state.row + by[0], present(down, current.rows)), clamp((state.column ?? -1) + by[1], present(across, current.columns))]);
    if (id === "lines") reveal(by[0] ? state.row : state.column);
  });
}
$("lines").addEventListener("scroll", () => drawPicture());
$("site").onchange = (event) => {
  state.site = Number(event.target.value);
  if (!stage()) state.stage = "weights";
  state.head = Math.min(state.head, site().heads - 1);
  state.column = null;
  draw();
};
for (const id of Object.keys(LISTS)) $(id).onchange = (event) => {
  state[id] = event.target.value;
  if (isOfWords() && !isLined(stage())) state.stage = "weights";
  draw();
};
$("language").onclick = () => { state.language = state.language === "en" ? "zh_CN" : "en"; draw(); };
let isSystems = true;
$("theme").onclick = () => { isSystems = false; state.dark = !state.dark; draw(); };
const follow = (isDark) => { if (isSystems && isDark !== state.dark) { state.dark = isDark; draw(); } };
system.addEventListener("change", () => follow(system.matches));
// In a cell of a notebook, whose theme counts.
addEventListener("message", (event) => { if (isNotebook(event)) follow(event.data.dark === true); });
$("step").oninput = (event) => { stop(); goTo(Number(event.target.value)); };
$("play").onclick = play;
// Paper is light, whatever the screen is: the colours and the picture change before the browser prints.
let onScreen = null;
addEventListener("beforeprint", () => {
  if (!current || onScreen) return;
  onScreen = { dark: state.dark };
  state.dark = false;
  document.documentElement.classList.remove("dark");
  $("arcs").style.maxWidth = "600px"; // the browser breaks lines of words anew on the sheet
  drawSteps();
  drawBar(current);
  drawPicture();
  drawCell(current);
});
addEventListener("afterprint", () => { if (onScreen) { state.dark = onScreen.dark; onScreen = null; $("arcs").style.maxWidth = ""; draw(); } });
addEventListener("resize", () => { if (current) drawPicture(); });

async function start() {
  fillLists();
  // A cell of a notebook is no file that the program could open.
  parsed.then(() => { document.querySelector("footer").hidden = !$("attnviz"); });
  if (!globalThis.DecompressionStream) { drawLists(); $("hint").textContent = say("old"); return; }
  // A canvas draws with the fonts that are there already.
  await Promise.all([`400 12px ${FONT}`, `600 12px ${FONT}`, `12px ${MONO}`].map((font) => document.fonts.load(font, "a中").catch(() => null)));
  await draw();
}
start();
