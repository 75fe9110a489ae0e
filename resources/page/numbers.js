// --- numbers: blocks of the page become typed arrays when they are first drawn

const parsed = new Promise((done) => {
  if (document.readyState !== "loading") done();
  else document.addEventListener("DOMContentLoaded", done, { once: true });
});
// A cell of a notebook is a frame: the notebook sends it a port, which answers the number of a block with its text.
const isNotebook = (event) => event.source === parent && parent !== window;
const notebook = new Promise((done) => addEventListener("message", (event) => {
  if (isNotebook(event) && event.ports.length) done(event.ports[0]);
}));
const asked = async (block) => {
  const port = await notebook, { port1: mine, port2: reply } = new MessageChannel();
  return new Promise((done) => {
    mine.onmessage = (answer) => { mine.close(); done(answer.data); };
    port.postMessage(block, [reply]);
  });
};
// A block that an element follows has been read to its end.
async function textOf(block) {
  const found = () => document.querySelector(`[data-block="${block}"]`);
  if (!found()?.nextElementSibling) await parsed;
  return found()?.textContent ?? asked(block);
}
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text), found = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) found[at] = letters.charCodeAt(at);
  return found;
}
async function unpacked(block) {
  const stream = new Blob([bytesOf(await textOf(block))]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
}
// Every half there is: a table is read faster than a number is put together.
let halves = null;
// The first bytes of all numbers, then the second ones, …: put together again.
const JOINED = {
  f2: (bytes, count) => {
    halves ??= Float32Array.from({ length: 65536 }, (_, at) => half(at));
    const found = new Float32Array(count);
    for (let at = 0; at < count; at++) found[at] = halves[bytes[at] | (bytes[count + at] << 8)];
    return found;
  },
  f4: (bytes, count) => {
    const found = new Uint32Array(count), [second, third, last] = [count, 2 * count, 3 * count];
    for (let at = 0; at < count; at++)
      found[at] = bytes[at] | (bytes[second + at] << 8) | (bytes[third + at] << 16) | (bytes[last + at] << 24);
    return new Float32Array(found.buffer);
  },
  f8: (bytes, count) => {
    const found = new Uint8Array(8 * count);
    for (let part = 0; part < 8; part++) for (let at = 0; at < count; at++) found[8 * at + part] = bytes[part * count + at];
    return new Float64Array(found.buffer);
  },
};

// The most recent arrays stay; a block is read again when it is drawn again.
const KEPT = 96 * 2 ** 20;
const kept = new Map(), coming = new Map();
let size = 0;
function keep(key, array) {
  kept.set(key, array);
  size += array.byteLength;
  for (const [old, one] of kept) {
    if (size <= KEPT || old === key) break;
    kept.delete(old);
    size -= one.byteLength;
  }
}
const keyOf = (row, head, at) => `${data.sites.indexOf(at)} ${row.id} ${head}`;
// The numbers of one head of a stage, row after row; a promise until they are read.
function numbers(row, head, at = site()) {
  const key = keyOf(row, head, at);
  if (kept.has(key)) return kept.get(key);
  if (!coming.has(key)) coming.set(key, read(row, head, at).then((array) => { keep(key, array); coming.delete(key); return array; }));
  return coming.get(key);
}
async function read(row, head, at) {
  const count = row.shape.at(-1) * row.shape.at(-2), hiding = row.hatched ? await hiddenOf(at) : null;
  if (row.blocks) return JOINED[row.type](await unpacked(row.blocks[head]), count);
  const found = (await numbers(stage(row.repeats, at), head, at)).map((value) => value * row.factor);
  if (row.blocked !== null && hiding) for (let cell = 0; cell < count; cell++) if (bit(hiding, cell)) found[cell] = Number(row.blocked);
  return found;
}
const bit = (cells, at) => (cells[at >> 3] >> (7 - (at & 7))) & 1;
// The cells of a site that its masks block, as bits; null without masks.
async function hiddenOf(at) {
  if (at.hidden === null) return null;
  at.cells ??= await unpacked(at.hidden);
  return at.cells;
}
// One head of a stage that is kept: rows, columns, value(i, j), and hidden(i, j).
async function matrix(row, head, at = site()) {
  const [all, cells] = await Promise.all([numbers(row, head, at), row.hatched ? hiddenOf(at) : null]);
  const [rows, columns] = row.shape.slice(-2);
  return { row, head, at, rows, columns, all, cells, value: (i, j) => all[i * columns + j],
    hidden: (i, j) => Boolean(cells && bit(cells, i * columns + j)) };
}

// As in the window: four decimals, so that 0.9999 is no 1.
const probability = (p) => (p !== 0 && p < 1e-4 ? p.toExponential(1).replace("-", "−") : p.toFixed(4));
function shown(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const large = Math.abs(value);
  const text = large !== 0 && (large < 1e-3 || large >= 1e6) ? value.toExponential(2) : value.toFixed(large < 100 ? 3 : 1);
  return text.replaceAll("-", "−");
}
// As in a cell: four places, so small numbers have one digit and an exponent.
function brief(value) {
  const large = Math.abs(value);
  if (large === 0 || large >= 1e-3 || !Number.isFinite(value)) return shown(value);
  return (large < 5e-4 ? value.toExponential(0) : value.toFixed(3)).replaceAll("-", "−");
}
// The fewest digits that give the stored number back.
function exact(value, type) {
  if (!Number.isFinite(value) || type === "f8") return Number.isFinite(value) ? String(value).replaceAll("-", "−") : shown(value);
  let digits = type === "f2" ? 4 : 1;
  while (type === "f4" && Math.fround(Number(value.toPrecision(digits))) !== value) digits += 1;
  return String(Number(value.toPrecision(digits))).replaceAll("-", "−");
}
