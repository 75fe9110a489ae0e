// --- what is shown: the strip of stages, the heads, and the lists

const LISTS = { picture: ["map", "lines", "arcs", "grid"], range: ["row", "head", "all", "log"], from: ["one", "all"], of: ["one", "all"] };
const PREFIX = { picture: "view" };

// As many buttons as there are names; those that stay keep the focus of the keyboard.
function fillButtons(box, names, isPressed, make) {
  while (box.children.length > names.length) box.lastElementChild.remove();
  while (box.children.length < names.length) box.append(make(box.children.length));
  names.forEach((name, at) => {
    const button = box.children[at];
    button.lastElementChild.textContent = name;
    button.setAttribute("aria-pressed", String(isPressed(at)));
  });
}
function madeButton(tag, act) {
  const button = document.createElement("button");
  button.append(document.createElement(tag), document.createElement("span"));
  button.onclick = act;
  return button;
}
function drawStrip() {
  const rows = site().stages;
  fillButtons($("strip"), rows.map(title), (at) => rows[at].id === state.stage, (at) => madeButton("canvas", () => {
    Object.assign(state, { stage: site().stages[at].id, column: null, locked: false });
    if (isOfWords() && !isLined(stage())) state.picture = "map";
    draw();
  }));
  bringIntoStrip($("strip").children[rows.findIndex((row) => row.id === state.stage)]);
}
// The strip scrolls alone; the page keeps its place.
function bringIntoStrip(button) {
  const strip = $("strip"), box = strip.getBoundingClientRect(), { left, right } = button.getBoundingClientRect();
  if (left < box.left || right > box.right) strip.scrollLeft += (left + right - box.left - box.right) / 2;
}
// Small pictures come after the large one, a stage at a time.
async function paintStrip(isCurrent) {
  for (const [at, row] of site().stages.entries()) {
    const m = await matrix(row, headOf(row));
    if (!isCurrent()) return;
    const canvas = $("strip").children[at].firstElementChild;
    [canvas.width, canvas.height] = [88, 64];
    canvas.getContext("2d").putImageData(paint(m, canvas.width, canvas.height), 0, 0);
    await new Promise((done) => setTimeout(done));
  }
  document.documentElement.dataset.complete = "true";
}
function drawHeads() {
  const count = stage().shape.length < 3 ? 0 : site().heads;
  const names = Array.from({ length: count }, (_, head) => say("head", { n: head + 1 }));
  fillButtons($("heads"), names, (head) => head === state.head, (head) => madeButton("i", () => { state.head = head; draw(); }));
  [...$("heads").children].forEach((button, head) => {
    button.firstElementChild.style.background = hueOf(head);
    button.firstElementChild.hidden = !isOfWords();
  });
}
function fillLists() {
  data.sites.forEach((one, at) => $("site").append(new Option("", at)));
  for (const [id, values] of Object.entries(LISTS)) for (const value of values) $(id).append(new Option("", value));
}
function drawLists() {
  [...$("site").options].forEach((one, at) => { one.textContent = data.sites[at].titles[state.language]; });
  $("site").value = String(state.site);
  $("site").hidden = data.sites.length < 2;
  for (const id of Object.keys(LISTS)) {
    for (const one of $(id).options) one.textContent = say(`${PREFIX[id] || id}_${one.value}`);
    $(id).value = state[id];
  }
  $("range").hidden = isOfWords();
  $("from").hidden = state.picture !== "lines";
  $("of").hidden = !isOfWords();
  $("language").textContent = state.language === "en" ? "中文" : "English";
  document.querySelectorAll("[data-say]").forEach((one) => { one.textContent = say(one.dataset.say); });
  document.querySelectorAll("[data-name]").forEach((one) => { one.setAttribute("aria-label", say(one.dataset.name)); });
}
