"use strict";
// What every chart uses: elements, colours, numbers.
const data = JSON.parse(document.getElementById("data").textContent);
const drawers = {};
const SVG = "http://www.w3.org/2000/svg";

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children) element.append(child);
  return element;
}
const html = (name, attributes, ...children) => made(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) => made(document.createElementNS(SVG, name), attributes, children);

const colour = (number) => number < 0 ? "var(--muted)" : number >= 100 ? `var(--s${number - 100})` : `var(--c${number % 8})`;

// A canvas knows no variables: let the page resolve them.
const probe = document.body.appendChild(html("span", { hidden: "" }));
function resolved(value) {
  probe.style.color = value;
  return getComputedStyle(probe).color;
}

function written(value, share) {
  if (value === null || !Number.isFinite(value)) return "not a number";
  if (share) return `${trimmed(100 * value, 1)} %`;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(1).replace("e+", "e");
  return trimmed(value, size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}
const trimmed = (value, digits) => String(Number(value.toFixed(digits))).replace("-", "−");

// A text that is cut to what fits, the whole of it on hover.
function fitted(text, characters) {
  return text.length <= characters ? text : text.slice(0, Math.max(1, characters - 1)) + "…";
}
