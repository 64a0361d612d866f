const list = document.getElementById("rows");
const more = document.getElementById("more");
const STEP = 50;  // rows added at a time
let saved = true;

function item(row) {
  const created = element("div", undefined, "decision"), said = element("div"), select = element("select");
  const suggested = row.suggested ? `, likely ${row.suggested}` : "";
  said.append(element("span", `row ${row.row} `, "row"), element("strong", row.label), `${suggested}: ${row.reason}`);
  const text = element("p", row.text);
  text.dir = "auto";
  said.append(text);
  select.setAttribute("aria-label", `decision about row ${row.row}`);
  select.append(option("", "undecided"));
  if (row.suggested) select.append(option("relabel", `relabel: ${row.suggested}`));
  select.append(...data.choices.map(([value, shown]) => option(value, shown)));
  select.addEventListener("change", () => {
    row.decision = select.value;
    created.classList.toggle("made", select.value !== "");
    saved = false;
    count();
  });
  created.append(said, select);
  return created;
}

function addRows() {
  const shown = list.childElementCount;
  list.append(...data.rows.slice(shown, shown + STEP).map(item));
  more.hidden = list.childElementCount === data.rows.length;
}

function count() {
  const decided = data.rows.filter(row => row.decision).length;
  document.getElementById("decided").textContent = `${decided} of ${data.rows.length} rows are decided`;
}

document.getElementById("save").addEventListener("click", () => {
  saveCsv("decisions.csv", Object.keys(data.rows[0]), data.rows);
  saved = true;
});
more.addEventListener("click", addRows);
addEventListener("beforeunload", event => { if (!saved) event.preventDefault(); });
addRows();
count();
