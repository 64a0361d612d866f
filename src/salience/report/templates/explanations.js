const main = document.getElementById("texts");
const count = document.getElementById("count");
const explainer = document.getElementById("explainer");
const search = document.getElementById("search");
const order = document.getElementById("order");
const STEP = 50;  // texts added at a time while the reader scrolls
let selected = [];  // rows that match the search, in the chosen order
let shown = 0;  // how many of them are on the page

function confidence(row) { return row.probabilities[row.predicted]; }
function rounded(value) { return value === null ? "unknown" : value.toFixed(2); }
function isWrong(row) { return row.right === false; }

function verdictOf(row) {
  const verdict = element("div", undefined, "verdict");
  // Of several labels, a row is about one of them, which may not be predicted.
  verdict.append(element("b", (row.not ? "not " : "") + data.labels[row.predicted]), ` ${rounded(confidence(row))}`);
  const known = row.gold === null ? "wrong" : `wrong: it is ${data.labels[row.gold]}`;
  if (isWrong(row)) verdict.append(" ", element("span", known, "wrong"));
  else if (row.right) verdict.append(" right");
  if (row.target !== row.predicted) verdict.append(`, explained: ${data.labels[row.target]}`);
  const others = element("span", undefined, "probabilities");
  row.probabilities.forEach((value, index) => {
    if (index === row.predicted || value < 0.01) return;
    others.append(element("span", `${data.labels[index]} ${value.toFixed(2)}`));
  });
  verdict.append(others);
  if (row.row !== null) verdict.append(element("span", `row ${row.row}`, "row"));
  return verdict;
}

function spaceBefore(row, index) { return row.spaces ? row.spaces[index] : index ? " " : ""; }
function wordsOf(row) { return row.words.map((word, index) => spaceBefore(row, index) + word).join(""); }

function textOf(row) {
  const text = element("div", undefined, "text");
  const scores = row.scores[explainer.selectedIndex];
  const largest = Math.max(1e-12, ...scores.map(Math.abs));
  row.words.forEach((word, index) => {
    const part = element("span", word, index === row.second ? "word second" : "word");
    part.style.background = colour(scores[index] / largest);
    part.title = scores[index] === null ? "unknown" : scores[index].toPrecision(3);
    text.append(spaceBefore(row, index), part);
  });
  if (row.cut) text.append(" ", element("span", "(the rest was not read)", "row"));
  text.dir = "auto";
  return text;
}

function article(row) {
  const created = element("article");
  created.append(verdictOf(row), textOf(row));
  return created;
}

function addTexts() {
  const next = selected.slice(shown, shown + STEP);
  main.append(...next.map(article));
  shown += next.length;
}

function fillWindow() {
  while (shown < selected.length && innerHeight + scrollY > document.body.scrollHeight - 800) addTexts();
}

function show(event) {
  // Another explainer keeps the reader's place; another search or order starts at the top.
  const kept = event && event.target === explainer ? shown : 0;
  const wanted = search.value.trim().toLowerCase();
  selected = data.rows.filter(row => !wanted || wordsOf(row).toLowerCase().includes(wanted)
    || data.labels[row.predicted].toLowerCase() === wanted);
  if (order.value === "unsure") selected.sort((a, b) => confidence(a) - confidence(b));
  if (order.value === "sure") selected.sort((a, b) => confidence(b) - confidence(a));
  if (order.value === "wrong") selected.sort((a, b) => isWrong(b) - isWrong(a) || confidence(b) - confidence(a));
  main.replaceChildren();
  shown = 0;
  do addTexts(); while (shown < kept);
  if (!kept) scrollTo(0, 0);
  fillWindow();
  for (const name of ["signed", "unsigned"]) {
    document.getElementById(name).hidden = data.signed[explainer.selectedIndex] !== (name === "signed");
  }
  count.textContent = `${selected.length} of ${data.rows.length} ${data.counted}`;
}

for (const name of data.explainers) explainer.append(element("option", name));
for (const control of [explainer, order]) control.addEventListener("change", show);
search.addEventListener("input", show);
document.getElementById("scored").addEventListener("change", event => {
  main.classList.toggle("scored", event.target.checked);
});
for (const event of ["scroll", "resize"]) addEventListener(event, fillWindow, { passive: true });
show();
