const list = document.getElementById("rows");
const save = document.getElementById("save");
const STATES = ["", "decides", "ignored"];  // of a word, as the style sheet names them
const DECIDES = 1, IGNORED = 2;
let at = 0;  // the row that the keys are about
let saved = true;

function rounded(value) { return value === null ? "unknown" : value.toFixed(2); }
function named(numbers) { return numbers.map(number => data.labels[number]).join(", ") || "no label"; }

// Labels are lists of their numbers, of one where a text has one label, or null where none is known.
function isCorrected(row) {
  return row.confirmed || row.words.some(word => word.state) || String(row.label) !== String(row.given);
}

function wordsOf(text, second, row) {
  const shown = element("p", undefined, second ? "second" : "");
  shown.dir = "auto";
  for (const [before, written, start, end, scores] of text.words) {
    const own = element("span", written, "word"), number = row.words.length;
    own.addEventListener("click", () => {
      row.at = number;
      go(data.rows.indexOf(row));
      mark(row, (row.words[number].state + 1) % 3);
    });
    row.words.push({ shown: own, start, end, scores, second, state: 0 });
    shown.append(before, own);
  }
  shown.append(text.rest);
  return shown;
}

// The heat map of the explanation with this number: the strength of a colour is relative to its largest score.
function paint(row, number) {
  const sizes = row.words.map(word => Math.abs(word.scores[number] ?? 0));
  const largest = sizes.reduce((one, other) => Math.max(one, other), 1e-12);
  for (const { shown, scores } of row.words) {
    const score = scores[number] ?? null;
    shown.style.background = score === null ? "" : colour(score / largest);
    shown.title = score === null ? "not read" : score.toPrecision(3);
  }
}

function explainedOf(row) {
  const select = element("select");
  select.setAttribute("aria-label", `explained label of ${row.place}`);
  select.append(...row.explained.map((label, number) => option(number, data.labels[label])));
  select.addEventListener("change", () => { select.blur(); paint(row, Number(select.value)); });
  return select;
}

function labelsOf(row) {
  const described = data.labels.map((label, number) =>
    `${number < 9 ? `${number + 1} ` : ""}${label} (${rounded(row.probabilities[number])})`);
  if (!data.several) {
    const select = element("select");
    select.setAttribute("aria-label", `label of ${row.place}`);
    select.append(option("", "choose the label"), ...described.map((shown, number) => option(number, shown)));
    select.addEventListener("change", () => choose(row, select.value === "" ? null : [Number(select.value)]));
    row.draw = () => { select.value = row.label ? row.label[0] : ""; };
    return select;
  }
  const group = element("span", undefined, "labels");
  const boxes = described.map((shown, number) => {
    const box = element("input"), label = element("label");
    box.type = "checkbox";
    box.addEventListener("change", () => { box.blur(); toggle(row, number); });
    label.append(box, ` ${shown}`);
    group.append(label);
    return box;
  });
  row.draw = () => boxes.forEach((box, number) => { box.checked = (row.label ?? []).includes(number); });
  return group;
}

function article(row) {
  const created = element("article"), said = element("div"), confirmed = element("button"), reset = element("button");
  Object.assign(row, { shown: created, words: [], at: 0, label: row.given, confirmed: false });
  said.append(element("span", `${row.place} `, "row"), element("strong", named(row.predicted)));
  if (!data.several) said.append(` ${rounded(row.probabilities[row.predicted[0]])}`);
  if (row.given && String(row.given) !== String(row.predicted)) {
    said.append(", ", element("span", `given: ${named(row.given)}`, "wrong"));
  } else if (row.given) said.append(", as given");
  if (data.several) said.append(", explained: ", row.explained.length > 1 ? explainedOf(row) : data.labels[row.explained[0]]);
  said.append(" ", element("span", `(${row.reason})`, "row"));
  const texts = row.texts.map((text, number) => wordsOf(text, number > 0, row));
  paint(row, 0);
  if (row.cut) texts.at(-1).append(" ", element("span", "(not all was read)", "row"));
  for (const [button, name, action] of [[confirmed, "right as it is", confirm], [reset, "undo", undo]]) {
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", () => { go(data.rows.indexOf(row)); action(row); });
  }
  created.append(said, ...texts, labelsOf(row), " ", confirmed, " ", reset);
  return created;
}

function draw(row) {
  row.draw();
  row.shown.classList.toggle("corrected", isCorrected(row));
  row.words.forEach((word, number) => {
    word.shown.className = `word ${STATES[word.state]} ${number === row.at ? "at" : ""}`;
  });
}

function count() {
  const all = data.rows.filter(isCorrected), without = all.filter(each => each.label === null).length;
  const more = without ? `, ${without} of them without a label` : "";
  document.getElementById("count").textContent = `${all.length} of ${data.rows.length} rows are corrected${more}`;
  save.disabled = !all.length;
}

function changed(row) {
  saved = false;
  draw(row);
  count();
}

function mark(row, state) {
  row.words[row.at].state = state;
  changed(row);
}

function choose(row, label) {
  row.label = label;
  changed(row);
}

function toggle(row, number) {
  const label = row.label ?? [];
  choose(row, label.includes(number) ? label.filter(each => each !== number) : [...label, number].sort((a, b) => a - b));
}

// Where the file says no label, the prediction is confirmed.
function confirm(row) {
  row.confirmed = true;
  choose(row, row.label ?? row.predicted);
}

function undo(row) {
  row.words.forEach(word => { word.state = 0; });
  row.confirmed = false;
  choose(row, row.given);
}

function go(number) {
  data.rows[at].shown.classList.remove("current");
  at = Math.min(Math.max(number, 0), data.rows.length - 1);
  data.rows[at].shown.classList.add("current");
  data.rows[at].shown.scrollIntoView({ block: "nearest" });
}

function step(row, by) {
  row.at = Math.min(Math.max(row.at + by, 0), row.words.length - 1);
  draw(row);
}

function spansOf(row, state, second) {
  return row.words.filter(word => word.state === state && word.second === second).map(word => [word.start, word.end]);
}

// A pair has its spans by the names of its columns.
function spans(row, state) {
  const found = row.texts.map((_, number) => spansOf(row, state, number > 0));
  if (!found.some(each => each.length)) return "";
  const byColumn = Object.fromEntries(data.columns.map((column, number) => [column, found[number]]));
  return JSON.stringify(data.columns.length > 1 ? byColumn : found[0]);
}

// The share of the explanation of the most probable label, without signs, that is on the words of a state.
function share(row, state) {
  const sum = words => words.reduce((total, word) => total + Math.abs(word.scores[0] ?? 0), 0);
  const own = row.words.filter(word => word.state === state);
  return own.length && sum(row.words) ? (sum(own) / sum(row.words)).toFixed(4) : "";
}

function asRow(row) {
  const texts = row.texts.map(({ words, rest }) => words.map(([before, word]) => before + word).join("") + rest);
  const written = label => {
    if (label === null) return "";
    const names = label.map(number => data.labels[number]);
    return data.several ? JSON.stringify(names) : names[0];
  };
  return {
    label: written(row.label), marks: spans(row, DECIDES), ignore: spans(row, IGNORED), predicted: written(row.predicted),
    marks_share: share(row, DECIDES), ignore_share: share(row, IGNORED),
    ...Object.fromEntries(data.columns.map((column, number) => [column, texts[number]])),
  };
}

function saveAll() {
  const rows = data.rows.filter(isCorrected).map(asRow);
  if (!rows.length) return;
  saveCsv(data.file, data.saved, rows);
  saved = true;
}

const KEYS = {
  ArrowDown: () => go(at + 1),
  ArrowUp: () => go(at - 1),
  ArrowRight: row => step(row, 1),
  ArrowLeft: row => step(row, -1),
  d: row => mark(row, row.words[row.at].state === DECIDES ? 0 : DECIDES),
  i: row => mark(row, row.words[row.at].state === IGNORED ? 0 : IGNORED),
  u: undo,
  s: saveAll,
  Enter: row => { confirm(row); go(at + 1); },
};

addEventListener("keydown", event => {
  const target = event.target.closest("select, button, input");
  if (event.key === "Escape") target?.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || target?.matches("select, input")) return;
  if (target && event.key === "Enter") return;
  const row = data.rows[at], number = "123456789".indexOf(event.key);
  if (number >= 0 && number < data.labels.length) data.several ? toggle(row, number) : choose(row, [number]);
  else if (Object.hasOwn(KEYS, event.key)) KEYS[event.key](row);
  else return;
  event.preventDefault();
});
save.addEventListener("click", saveAll);
addEventListener("beforeunload", event => { if (!saved) event.preventDefault(); });
list.append(...data.rows.map(article));
data.rows.forEach(draw);
count();
go(0);
