// Lines with bands and dots; the pointer or the arrow keys read off the values at one place.
drawers.lines = (host, chart) => {
  const width = host.clientWidth, height = Math.round(Math.min(320, Math.max(220, width * 0.6)));
  const xs = extent(chart.lines.flatMap((line) => line.x).concat(chart.diagonal ? [0, 1] : []), [0, 1]);
  const seen = chart.lines.flatMap((line) => [...line.y, ...line.low, ...line.high, ...line.marks.map((mark) => mark[1])]);
  const ys = chart.limits || padded(extent(seen, [0, 1]), 0.06);
  const epochs = !chart.x_share && chart.x_label === "epoch";
  const space = frame(width, height, xs, ys, { ...chart, whole: epochs });
  const { x, y } = space;
  const body = svg("g");
  if (chart.diagonal) body.append(svg("line", { class: "guide", x1: x(xs[0]), y1: y(xs[0]), x2: x(xs[1]), y2: y(xs[1]) }));
  if (chart.rule !== null) body.append(svg("line", { class: "guide", x1: x(chart.rule), x2: x(chart.rule), y1: y(ys[0]), y2: y(ys[1]) }));
  for (const line of chart.lines) drawLine(body, line, x, y);
  const cursor = svg("line", { class: "guide", y1: y(ys[0]), y2: y(ys[1]), visibility: "hidden" });
  const picture = svg("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "slider", "aria-label": `${chart.title}. ${chart.summary}`,
    "aria-valuemin": 0, "aria-valuenow": 0, "aria-valuetext": "arrow keys read the values",
  }, ...space.parts, body, cursor);
  const readout = html("output", { class: "readout" });
  host.replaceChildren(picture, readout, legend(chart.lines));
  const places = [...new Set(chart.lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  picture.setAttribute("aria-valuemax", Math.max(0, places.length - 1));
  let at = -1;
  const show = (next) => {
    at = Math.max(0, Math.min(places.length - 1, next));
    const place = places[at];
    if (place === undefined) return;
    made(cursor, { x1: x(place), x2: x(place), visibility: "visible" }, []);
    const name = chart.x_label === "epoch" ? `epoch ${place}` : `${written(place, chart.x_share)}`;
    const values = chart.lines.map((line) => [line, line.x.indexOf(place)]).filter(([, index]) => index >= 0)
      .map(([line, index]) => `${line.name} ${written(line.y[index], chart.y_share)}`);
    readout.textContent = `${name}: ${values.join("; ")}`;
    made(picture, { "aria-valuenow": at, "aria-valuetext": readout.textContent }, []);
  };
  const nearest = (value) => places.reduce((best, place, index) => Math.abs(place - value) < Math.abs(places[best] - value) ? index : best, 0);
  picture.addEventListener("pointermove", (event) => show(nearest(x.back(event.clientX - picture.getBoundingClientRect().left))));
  picture.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); readout.textContent = ""; });
  picture.addEventListener("keydown", (event) => stepped(event, at, places.length, show));
};

// Arrow keys, Home and End over a row of things.
function stepped(event, at, count, show) {
  const steps = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: count - 1, PageDown: at + 10, PageUp: at - 10 };
  if (!(event.key in steps)) return;
  event.preventDefault();
  show(Math.max(0, Math.min(count - 1, steps[event.key])));
}

function drawLine(body, line, x, y) {
  const tone = colour(line.colour);
  if (line.low.length) {
    const known = line.x.map((_, index) => index).filter((index) => line.low[index] !== null && line.high[index] !== null);
    const there = known.map((index) => `${x(line.x[index]).toFixed(1)},${y(line.high[index]).toFixed(1)}`);
    const back = known.reverse().map((index) => `${x(line.x[index]).toFixed(1)},${y(line.low[index]).toFixed(1)}`);
    body.append(svg("polygon", { points: [...there, ...back].join(" "), style: `fill:${tone}`, opacity: 0.16 }));
  }
  let path = "", pen = "M";
  line.y.forEach((value, index) => {
    if (value === null) { pen = "M"; return; }  // a loss that is not a number leaves a gap
    path += `${pen}${x(line.x[index]).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  const dash = line.dashed ? "5 4" : null;
  body.append(svg("path", { d: path, fill: "none", style: `stroke:${tone}`, "stroke-width": line.dashed ? 1.4 : 2, "stroke-dasharray": dash, "stroke-linejoin": "round" }));
  const marks = line.y.filter((value) => value !== null).length === 1 ? [[line.x[line.y.findIndex((value) => value !== null)], line.y.find((value) => value !== null)]] : line.marks;
  for (const [left, up] of marks) {
    if (up !== null) body.append(svg("circle", { cx: x(left), cy: y(up), r: 3.6, style: `fill:${tone};stroke:var(--panel);stroke-width:1.5` }));
  }
}

function legend(lines) {
  const entries = lines.map((line) => html("li", {}, svg("svg", { viewBox: "0 0 22 10", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 22, y1: 5, y2: 5, style: `stroke:${colour(line.colour)}`, "stroke-width": 2.4, "stroke-dasharray": line.dashed ? "5 3" : null })), line.name));
  return html("ul", { class: "legend" }, ...entries);
}
