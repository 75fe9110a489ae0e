"use strict";
// The page of a document: numbers in typed arrays, one large picture on a canvas, and for each cell its sources.
// It reads nothing but itself. `state` is all that a reader chooses; every function that draws reads it.
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const system = matchMedia("(prefers-color-scheme: dark)");
const state = { site: data.site, stage: data.stage, head: data.head, range: "head", language: data.language,
  dark: system.matches, picture: data.picture, from: data.lines.from, of: data.lines.of, row: data.row, column: null,
  locked: false, step: Math.max(0, data.steps.findLastIndex((step) => step.p === null)) };

// A text with its gaps filled, by their names.
const fill = (text, gaps) => text.replace(/\{(\w+)\}/g, (gap, name) => gaps[name] ?? gap);
const say = (name, gaps = {}) => fill(data.words[state.language][name], gaps);
// Two texts joined with the punctuation of the language.
const join = (way, first, second) => fill(data.joins[state.language][way], { first, second });
const site = () => data.sites[state.site];
const stage = (id = state.stage, at = site()) => at.stages.find((row) => row.id === id);
const title = (row) => row.titles[state.language];
const isLined = (row) => data.lines.stages.includes(row.id);
// Pictures of words, which only shares of the keys have.
const isOfWords = () => state.picture === "lines" || state.picture === "arcs";
const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));

function headOf(row, head = state.head, at = site()) {
  if (row.shape.length < 3) return 0;
  return row.axes[0] === "kv_head" ? Math.floor(head / at.group) : head;
}
// Tokens along an axis that exist at the step that is shown; all of them without steps.
function present(axis, count, at = site()) {
  const isKey = axis === "key" || axis === "memory", isToken = isKey || axis === "query" || axis === "token";
  return data.steps.length && isToken && at.grows[Number(isKey)] ? Math.min(count, state.step + 1) : count;
}
function labels(axis, count) {
  if (axis === "query" || axis === "token") return site().queries;
  if (axis === "key" || axis === "memory") return site().keys;
  if (axis === "vocabulary") return site().vocabulary;
  return Array.from({ length: count }, (_, at) => String(at));
}
