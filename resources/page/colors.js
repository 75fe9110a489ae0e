// --- colours

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const tables = new Map();
// 256 colours as RGBA words.
function tableOf(signed) {
  const name = signed ? (state.dark ? "diverging_dark" : "diverging") : "sequential";
  if (!tables.has(name)) {
    const bytes = new Uint8ClampedArray(1024), rgb = data.colors[name];
    for (let at = 0; at < 256; at++) bytes.set([rgb[3 * at], rgb[3 * at + 1], rgb[3 * at + 2], 255], 4 * at);
    tables.set(name, new Uint32Array(bytes.buffer));
  }
  return tables.get(name);
}
function rgbOf(word) {
  return [word & 255, (word >> 8) & 255, (word >> 16) & 255];
}
// The lowest and the highest colour of a row i, or of all rows.
function ends(m, i) {
  const { row, head } = m;
  let top = row.tops[head];
  if (state.range === "all") top = Math.max(...row.tops);
  if (state.range === "row") {
    top = 0;
    for (let j = 0; j < m.columns; j++) {
      const v = row.signed ? Math.abs(m.value(i, j)) : m.value(i, j);
      if (v > top && v < Infinity && !m.hidden(i, j)) top = v;
    }
    top ||= 1;
  }
  return [row.signed ? -top : 0, top];
}
function place(value, [low, high], signed) {
  if (state.range === "log" && !signed) {
    const least = high * 1e-4;
    return value <= least ? 0 : Math.log(value / least) / Math.log(high / least);
  }
  return (value - low) / (high - low || 1);
}
const indexOf = (share) => Math.max(0, Math.min(255, Math.round(share * 255)));
// A picture of one head so far, a pixel a cell or fewer; cells without a number stay clear.
// The colour of a cell without a finite number, by its name.
const markOf = (v) => Number.isNaN(v) ? "error" : "warning";
function wordOf(name) {
  const rgb = parseInt(css(name).slice(1), 16);
  return (255 << 24 | (rgb & 255) << 16 | rgb & 0xff00 | rgb >> 16) >>> 0;
}
function paint(m, width, height) {
  const image = new ImageData(width, height), pixels = new Uint32Array(image.data.buffer), table = tableOf(m.row.signed);
  const [down, across] = m.row.axes.slice(-2);
  const rows = present(down, m.rows, m.at), columns = present(across, m.columns, m.at);
  let range = ends(m, 0);
  for (let y = 0; y < height; y++) {
    const i = Math.floor((y * rows) / height);
    if (state.range === "row") range = ends(m, i);
    for (let x = 0; x < width; x++) {
      const j = Math.floor((x * columns) / width), v = m.all[i * m.columns + j];
      if (m.cells && bit(m.cells, i * m.columns + j)) continue;
      pixels[y * width + x] = v - v === 0 ? table[indexOf(place(v, range, m.row.signed))] : wordOf(markOf(v));
    }
  }
  return image;
}
