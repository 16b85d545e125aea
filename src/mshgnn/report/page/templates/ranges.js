// Values one below another: the label and the number above the track on a phone, beside it on a wide screen.
drawers.ranges = (host, chart) => {
  const width = host.clientWidth, narrow = width < 560;
  const left = narrow ? 8 : Math.min(230, Math.max(...chart.rows.map((row) => row.label.length)) * 7 + 20);
  const right = narrow ? 8 : Math.min(200, Math.max(...chart.rows.map((row) => row.text.length)) * 7 + 16);
  const step = narrow ? 46 : 32, bottom = 42;
  const height = chart.rows.length * step + bottom + 6;
  const seen = chart.rows.flatMap((row) => [row.value, row.low, row.high, ...row.dots]).concat(chart.zero === null ? [] : [chart.zero]);
  const xs = padded(extent(seen, [0, 1]), 0.05);
  const x = scale(xs, left, width - right);
  const parts = [];
  for (const value of ticks(xs[0], xs[1], Math.max(2, (width - left - right) / 90))) {
    parts.push(svg("line", { class: "grid", x1: x(value), x2: x(value), y1: 0, y2: height - bottom }));
    parts.push(svg("text", { x: x(value), y: height - bottom + 16, "text-anchor": "middle" }, written(value, chart.x_share)));
  }
  parts.push(svg("text", { x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle" }, fitted(chart.x_label, width / 6.4)));
  if (chart.zero !== null) parts.push(svg("line", { class: "guide", x1: x(chart.zero), x2: x(chart.zero), y1: 0, y2: height - bottom }));
  chart.rows.forEach((row, index) => parts.push(...rangeRow(row, index * step + (narrow ? 32 : 18), x, left, right, width, narrow)));
  host.replaceChildren(svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${chart.title}: ${chart.summary}` }, ...parts));
};

function rangeRow(row, y, x, left, right, width, narrow) {
  const tone = colour(row.colour), parts = [];
  const fits = narrow ? Math.floor(width / 7 - row.text.length - 2) : Math.floor((left - 14) / 6.6);
  const label = svg("text", { class: "strong", x: narrow ? 0 : left - 12, y: narrow ? y - 16 : y + 4, "text-anchor": narrow ? "start" : "end" }, fitted(row.label, fits));
  label.append(svg("title", {}, row.label));
  parts.push(label, svg("text", { class: "strong", x: width, y: narrow ? y - 16 : y + 4, "text-anchor": "end" }, row.text));
  if (row.value === null) return parts;
  if (row.low !== null) parts.push(svg("line", { x1: x(row.low), x2: x(row.high), y1: y, y2: y, style: `stroke:${tone}`, "stroke-width": 3, opacity: 0.45, "stroke-linecap": "round" }));
  for (const dot of row.dots.length > 1 ? row.dots : []) {
    if (dot !== null) parts.push(svg("circle", { cx: x(dot), cy: y + 7, r: 1.8, style: `fill:${tone}`, opacity: 0.6 }));
  }
  parts.push(svg("circle", { cx: x(row.value), cy: y, r: 5, style: row.hollow ? `fill:var(--panel);stroke:${tone};stroke-width:2` : `fill:${tone}` }));
  return parts;
}
