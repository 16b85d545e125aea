// Points on a canvas; each stands for a test item, whose graph is shown when it is pointed at.
drawers.scatter = (host, chart) => {
  const subject = data.subjects[chart.subject];
  const groups = [...new Set(chart.views.map((view) => view.group))], names = [...new Set(chart.views.map((view) => view.name))];
  const state = host.state || (host.state = { group: groups[0], name: names[0], at: -1 });
  const view = chart.views.find((one) => one.group === state.group && one.name === state.name) || chart.views.find((one) => one.group === state.group);
  const again = (change) => { Object.assign(state, change, { at: -1 }); drawers.scatter(host, chart); host.querySelector(`[data-focus="${Object.keys(change)[0]}-${Object.values(change)[0]}"]`)?.focus(); };
  const canvas = html("canvas", { tabindex: 0, role: "slider", "aria-label": `${chart.title}. ${chart.summary}`, "aria-valuemin": 0, "aria-valuenow": 0,
    "aria-valuemax": Math.max(0, view.points.length - 1), "aria-valuetext": "arrow keys walk from point to point" });
  const card = html("div", { class: "card", "aria-live": "polite" }, html("p", { class: "undrawn" }, "There is nothing to show."));
  const keys = chart.legend.map((name, index) => html("li", {}, svg("svg", { viewBox: "0 0 22 10", "aria-hidden": "true" },
    svg("circle", { cx: 11, cy: 5, r: 4.5, style: `fill:${colour(legendColour(chart, index))}` })), name));
  host.replaceChildren(...scatterControls(groups, names, state, again), html("div", { class: "plot-and-card" }, html("div", {}, canvas, html("ul", { class: "legend" }, ...keys)), card));
  const plot = paint(canvas, chart, view, subject, state.at);
  const order = view.points.map((_, index) => index).sort((a, b) => view.x[a] - view.x[b] || view.y[a] - view.y[b]);
  const show = (index) => {
    if (index === state.at) return;
    state.at = index;
    paint(canvas, chart, view, subject, index);
    const item = view.points[index], facts = described(subject, item);
    const title = `row ${subject.rows[item]}, fold ${subject.folds[item] + 1}`;
    const list = html("dl", facts.length > 6 ? { tabindex: 0, "aria-label": "truth and prediction" } : {}, ...facts.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))));
    card.replaceChildren(drawGraph(subject.drawings[item], subject.vocabulary, null, `the ${subject.task === "node" ? "neighbourhood of the node" : "graph"} of ${title}`),
      html("p", { class: "card-title" }, title), list);
    made(canvas, { "aria-valuenow": order.indexOf(index), "aria-valuetext": `${title}: ${facts.map((fact) => fact.join(" ")).join(", ")}` }, []);
  };
  canvas.addEventListener("pointermove", (event) => point(event, canvas, plot, show));
  canvas.addEventListener("pointerdown", (event) => point(event, canvas, plot, show));
  if (order.length) show(order[Math.floor(order.length / 2)]);
  canvas.addEventListener("keydown", (event) => stepped(event, order.indexOf(state.at), order.length, (next) => show(order[next])));
};

const legendColour = (chart, index) => chart.colours.some((one) => one >= 100) ? 100 + index : index;

function scatterControls(groups, names, state, again) {
  const parts = [];
  if (names.length > 1) {
    for (const name of names) {
      const button = html("button", { type: "button", "aria-pressed": String(name === state.name), "data-focus": `name-${name}` }, name);
      button.addEventListener("click", () => again({ name }));
      parts.push(button);
    }
  }
  if (groups.length > 1) {
    const select = html("select", { "data-focus": "group" }, ...groups.map((group) => html("option", group === state.group ? { selected: "" } : {}, group)));
    select.addEventListener("change", () => again({ group: select.value }));
    parts.push(html("label", {}, "show ", select));
  }
  return parts.length ? [html("div", { class: "controls" }, ...parts)] : [];
}

function point(event, canvas, plot, show) {
  const box = canvas.getBoundingClientRect();
  const left = event.clientX - box.left, up = event.clientY - box.top;
  let best = -1, least = 400;  // 20 pixels
  plot.forEach(([x, y], index) => {
    const distance = (x - left) ** 2 + (y - up) ** 2;
    if (distance < least) { least = distance; best = index; }
  });
  if (best >= 0) show(best);
}

// Draws everything; returns where each point is.
function paint(canvas, chart, view, subject, chosen) {
  const width = canvas.parentElement.clientWidth, height = Math.round(Math.min(460, Math.max(260, width * 0.72)));
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const both = view.diagonal ? extent([...view.x, ...view.y], [0, 1]) : null;
  const xs = padded(both || extent(view.x, [0, 1]), 0.04);
  const ys = padded(both || extent(view.level ? [...view.y, 0] : view.y, [0, 1]), 0.06);
  const side = chart.axes ? 46 : 4, bottom = chart.axes ? 40 : 4, top = chart.axes ? 22 : 4;
  const x = scale(xs, side, width - 8), y = scale(ys, height - bottom, top);
  const ink = resolved("var(--muted)"), grid = resolved("var(--line)"), panel = resolved("var(--panel)");
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  pen.lineWidth = 1;
  const line = (x1, y1, x2, y2, tone, dash) => { pen.strokeStyle = tone; pen.setLineDash(dash); pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke(); pen.setLineDash([]); };
  if (chart.axes) {
    pen.fillStyle = ink;
    pen.textAlign = "right";
    for (const value of ticks(ys[0], ys[1], height / 70)) { line(side, y(value), width - 8, y(value), grid, []); pen.fillText(written(value, false), side - 6, y(value) + 4); }
    pen.textAlign = "center";
    for (const value of ticks(xs[0], xs[1], width / 90)) pen.fillText(written(value, false), x(value), height - bottom + 16);
    pen.fillText(fitted(view.x_label, width / 7), (side + width) / 2, height - 4);
    pen.textAlign = "left";
    pen.fillText(fitted(view.y_label, width / 7), 0, 11);
  }
  if (view.diagonal) line(x(both[0]), y(both[0]), x(both[1]), y(both[1]), ink, [4, 4]);
  if (view.level) line(side, y(0), width - 8, y(0), ink, [4, 4]);
  const radius = view.points.length > 1500 ? 2.4 : view.points.length > 300 ? 3.2 : 4.4;
  const tones = new Map();
  const tone = (number) => { if (!tones.has(number)) tones.set(number, resolved(colour(number))); return tones.get(number); };
  const places = view.points.map((item, index) => {
    const place = [x(view.x[index]), y(view.y[index])];
    const wrong = subject.objective === "classes" && subject.truth[item] >= 0 && subject.truth[item] !== subject.found[item];
    pen.globalAlpha = 0.78;
    pen.beginPath();
    pen.arc(place[0], place[1], radius, 0, 7);
    pen.fillStyle = wrong ? panel : tone(chart.colours[item]);
    pen.fill();
    if (wrong) { pen.globalAlpha = 1; pen.lineWidth = 1.8; pen.strokeStyle = tone(chart.colours[item]); pen.stroke(); }
    return place;
  });
  pen.globalAlpha = 1;
  if (chosen >= 0 && places[chosen]) {
    pen.beginPath();
    pen.arc(places[chosen][0], places[chosen][1], radius + 4, 0, 7);
    pen.lineWidth = 2;
    pen.strokeStyle = resolved("var(--ink)");
    pen.stroke();
  }
  return places;
}
