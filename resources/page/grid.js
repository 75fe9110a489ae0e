// --- layers × heads: a small map of every head of every layer

const SMALL = 64;
function layersOf(id) {
  return data.sites.map((one, at) => ({ one, at })).filter(({ one }) => stage(id, one)?.shape.length === 3);
}
// Pictures come one after the other, so that the page answers meanwhile.
async function drawGrid(isCurrent) {
  const box = $("grid"), pictures = [];
  box.replaceChildren();
  box.setAttribute("aria-label", say("view_grid"));
  for (const { one, at } of layersOf(state.stage)) {
    const row = stage(state.stage, one), line = document.createElement("div"), name = document.createElement("span");
    line.className = "layer";
    name.textContent = one.titles[state.language];
    line.append(name);
    for (let head = 0; head < row.shape[0]; head++) {
      const button = document.createElement("button"), canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [Math.min(SMALL, row.shape.at(-1)), Math.min(SMALL, row.shape.at(-2))];
      button.title = join("phrased", one.titles[state.language], say("head", { n: head + 1 }));
      button.setAttribute("aria-label", button.title);
      button.setAttribute("aria-pressed", String(at === state.site && head === headOf(row)));
      button.append(canvas);
      button.onclick = () => {
        Object.assign(state, { site: at, head: row.axes[0] === "kv_head" ? head * one.group : head, picture: "map", column: null });
        draw();
      };
      line.append(button);
      pictures.push({ canvas, row, head, one });
    }
    box.append(line);
  }
  for (const { canvas, row, head, one } of pictures) {
    const m = await matrix(row, head, one);
    if (!isCurrent()) return;
    canvas.getContext("2d").putImageData(paint(m, canvas.width, canvas.height), 0, 0);
  }
}
