// What pages share, before their own scripts.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

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

// The same colours as explanations in a notebook: purple at -1, orange at 1.
function colour(strength) {
  const hue = strength > 0 ? "224,130,20" : "128,115,172";
  return `rgba(${hue},${(Math.min(Math.abs(strength), 1) * 0.75).toFixed(2)})`;
}

// As salience writes csv for spreadsheets: no cell is a formula to one, and it needs the byte order mark.
function cell(value) {
  const safe = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function saveCsv(name, columns, rows) {
  const lines = [columns, ...rows.map(row => columns.map(column => row[column]))];
  const text = "\ufeff" + lines.map(line => line.map(cell).join(",") + "\r\n").join("");
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
}
