"use strict";
(function () {
  const element = (id) => document.getElementById(id);
  const episodes = JSON.parse(element("data").textContent);
  if (!episodes.length) return;
  let episode = 0;
  let step = 0; // 0 is the start state, n the state after turn n

  const percent = (value) => (value === null ? "?" : Math.round(100 * value) + "%");
  const signed = (value) => (value > 0 ? "+" : value < 0 ? "\u2212" : "") + Math.abs(value).toFixed(3);

  function make(tag, text, className) {
    const made = document.createElement(tag);
    made.textContent = text; // never markup: policies write this text
    if (className) made.className = className;
    return made;
  }

  function visible(text) {
    return text.replace(/[\u0000-\u0008\u000b-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
      .replace(/[\u007f-\u009f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
  }

  function fillPicker() {
    const picker = element("episode");
    let group = null;
    episodes.forEach((shown, number) => {
      if (!group || group.label !== shown.arm) {
        group = document.createElement("optgroup");
        group.label = shown.arm;
        picker.append(group);
      }
      const last = shown.turns[shown.turns.length - 1];
      const mark = shown.success ? "\u2713" : "\u2717";
      const option = make("option", visible(`${mark} ${shown.task} \u00b7 ${shown.turns.length} turns \u00b7 ${percent(last.progress)}`));
      option.value = String(number);
      group.append(option);
    });
    picker.addEventListener("change", () => { open(Number(picker.value)); });
  }

  function open(number) {
    episode = number;
    step = Math.min(1, episodes[episode].turns.length);
    element("episode").value = String(number);
    const strip = element("strip");
    strip.replaceChildren();
    const shown = episodes[episode];
    [{ progress: shown.progress, valid: true }, ...shown.turns].forEach((turn, index) => {
      const cell = make("span", "", turn.valid ? "" : "invalid");
      cell.style.setProperty("--p", String(turn.progress || 0));
      cell.title = index ? `turn ${index}: progress ${percent(turn.progress)}` : "start";
      cell.addEventListener("click", () => { step = index; draw(); });
      strip.append(cell);
    });
    draw();
  }

  function draw() {
    const shown = episodes[episode];
    const turn = step ? shown.turns[step - 1] : null;
    const before = step > 1 ? shown.turns[step - 2] : shown;
    const now = turn || shown;
    document.querySelector(".player").className = `player c${shown.colour}`;
    element("instruction").textContent = visible(shown.instruction);
    element("where").textContent = step ? `turn ${step} of ${shown.turns.length}` : "start";
    element("previous").disabled = step === 0;
    element("next").disabled = step === shown.turns.length;
    [...element("strip").children].forEach((cell, index) => cell.classList.toggle("here", index === step));
    element("turn").hidden = !turn;
    if (turn) {
      element("action").textContent = visible(turn.action);
      element("reply").textContent = visible(turn.reply);
      element("validity").replaceChildren(...(turn.valid ? [] : [make("span", "invalid", "bad")]));
    }
    element("share").textContent = percent(now.progress);
    element("progress").style.width = `${100 * (now.progress || 0)}%`;
    drawChecks(now.checks, turn ? before.checks : now.checks);
    drawRewards(turn, step === shown.turns.length ? shown : null);
  }

  function drawChecks(checks, before) {
    element("checks").replaceChildren(...Object.entries(checks).map(([name, score]) => {
      const old = before[name] ?? 0;
      const item = make("li", visible(name) + (score > 0 && score < 1 ? ` ${percent(score)}` : ""));
      item.classList.toggle("holds", score === 1);
      item.classList.toggle("part", score > 0 && score < 1);
      item.classList.toggle("gained", score > old);
      item.classList.toggle("lost", score < old);
      return item;
    }));
  }

  function drawRewards(turn, ended) {
    const rows = [];
    const row = (name, value, className) => {
      const made = make("tr", "", className);
      made.append(make("th", visible(name)), make("td", value === null ? "?" : signed(value), "number"));
      rows.push(made);
    };
    if (turn) {
      Object.entries(turn.parts).forEach(([name, value]) => row(name, value));
      row("sum", turn.reward, "total");
    }
    if (ended) {
      const made = document.createElement("tr");
      made.append(make("th", "episode ended"), make("td", visible(ended.stop), "number"));
      rows.push(made);
    }
    if (!rows.length) rows.push(make("tr", "\u2013"));
    element("rewards").tBodies[0].replaceChildren(...rows);
    const advantage = turn ? turn.advantage : null;
    const shown = element("advantage");
    shown.textContent = advantage === null ? "\u2013" : signed(advantage);
    shown.className = "advantage " + (advantage > 0 ? "up" : advantage < 0 ? "down" : "");
  }

  function move(by) {
    const next = step + by;
    if (next >= 0 && next <= episodes[episode].turns.length) { step = next; draw(); }
  }

  element("previous").addEventListener("click", () => move(-1));
  element("next").addEventListener("click", () => move(1));
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.tagName === "SELECT") return;
    const player = document.querySelector(".player").getBoundingClientRect();
    const inView = player.top < window.innerHeight && player.bottom > 0;
    if (!inView) return;
    if (event.key === "ArrowLeft") move(-1);
    else if (event.key === "ArrowRight") move(1);
    else if (event.key === "ArrowDown" && episode + 1 < episodes.length) open(episode + 1);
    else if (event.key === "ArrowUp" && episode > 0) open(episode - 1);
    else return;
    event.preventDefault();
  });

  fillPicker();
  open(0);
})();
