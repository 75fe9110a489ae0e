// --- the steps of a generation

let timer = null;
function drawSteps() {
  const steps = data.steps;
  $("steps").hidden = !steps.length;
  if (!steps.length) return;
  $("step").max = steps.length - 1;
  $("step").value = state.step;
  $("play").textContent = timer ? "❚❚" : "▶";
  $("text").replaceChildren(...steps.slice(0, state.step + 1).map((step, at) => {
    const word = document.createElement("span");
    word.textContent = step.token;
    if (step.p !== null) {
      word.style.background = `rgba(42, 103, 201, ${0.12 + 0.5 * step.p})`;
      word.title = probability(step.p);
    }
    if (at === state.step) word.setAttribute("aria-current", "true");
    word.onclick = () => goTo(at);
    return word;
  }));
  $("next").replaceChildren(...steps[state.step].next.flatMap(([token, p]) => {
    const name = document.createElement("span"), bar = document.createElement("i"), number = document.createElement("span");
    name.textContent = token;
    bar.style.width = `${100 * p}%`;
    number.textContent = probability(p);
    return [name, bar, number];
  }));
}
// The picture follows: its newest query is the token of the step.
function goTo(step) {
  Object.assign(state, { step, row: step, column: null, locked: false });
  draw();
}
function stop() {
  clearInterval(timer);
  timer = null;
}
function play() {
  if (timer) { stop(); drawSteps(); return; }
  if (state.step >= data.steps.length - 1) state.step = -1;
  timer = setInterval(() => {
    if (state.step + 1 >= data.steps.length - 1) stop();
    goTo(state.step + 1);
  }, 400);
}
