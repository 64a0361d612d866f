"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const list = document.getElementById("rows");
const more = document.getElementById("more");
const STEP = 50;  // rows added at a time
let saved = true;

// Values become text nodes and attributes, never markup.
function element(name, text, className) {
  const created = document.createElement(name);
  if (text !== undefined) created.textContent = text;
  if (className) created.className = className;
  return created;
}

function option(value, shown) {
  const created = element("option", shown);
  created.value = value;
  return created;
}

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

// As salience writes decisions.csv: no cell is a formula to a spreadsheet, which needs the byte order mark.
function cell(value) {
  const safe = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function asCsv() {
  const columns = Object.keys(data.rows[0]);
  const lines = [columns, ...data.rows.map(row => columns.map(name => row[name]))];
  return "\ufeff" + lines.map(line => line.map(cell).join(",") + "\r\n").join("");
}

document.getElementById("save").addEventListener("click", () => {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([asCsv()], { type: "text/csv" }));
  link.download = "decisions.csv";
  link.click();
  saved = true;
});
more.addEventListener("click", addRows);
addEventListener("beforeunload", event => { if (!saved) event.preventDefault(); });
addRows();
count();
