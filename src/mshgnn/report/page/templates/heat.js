// A matrix in shades of one colour.
drawers.heat = (host, chart) => {
  const width = host.clientWidth, columns = chart.columns.length;
  const longest = Math.max(...chart.rows.map((name) => name.length));
  const left = Math.min(width * 0.36, longest * 7 + 14);
  const cell = Math.min(130, (width - left - 2) / columns), tall = Math.min(46, Math.max(24, cell * 0.75));
  const turned = cell < 52 && chart.columns.some((name) => name.length * 7 > cell);
  const top = (chart.column_title ? 18 : 0) + (turned ? 64 : 20);
  const height = top + tall * chart.rows.length + 4;
  const parts = [];
  if (chart.column_title) parts.push(svg("text", { x: left, y: 11 }, fitted(chart.row_title ? `${chart.row_title} ↓, ${chart.column_title} →` : chart.column_title, (width - left) / 6.5)));
  chart.columns.forEach((name, index) => {
    const x = left + cell * (index + 0.5), y = top - 7;
    const text = turned
      ? svg("text", { x, y, transform: `rotate(-55 ${x} ${y})` }, fitted(name, 10))
      : svg("text", { x, y, "text-anchor": "middle" }, fitted(name, cell / 6.6));
    text.append(svg("title", {}, name));
    parts.push(text);
  });
  chart.rows.forEach((name, row) => {
    const label = svg("text", { x: left - 8, y: top + tall * (row + 0.5) + 4, "text-anchor": "end" }, fitted(name, (left - 8) / 6.8));
    label.append(svg("title", {}, name));
    parts.push(label);
    chart.shades[row].forEach((shade, column) => parts.push(...heatCell(chart, row, column, shade, left + cell * column, top + tall * row, cell, tall)));
  });
  host.replaceChildren(svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${chart.title}: ${chart.summary}` }, ...parts));
};

function heatCell(chart, row, column, shade, x, y, cell, tall) {
  const full = chart.texts[row][column] || "", short = full.split(" (")[0];
  const text = full.length * 6.6 < cell ? full : short;
  const fill = `color-mix(in srgb, var(--heat) ${Math.round(100 * Math.max(0, Math.min(1, shade || 0)))}%, var(--panel))`;
  const box = svg("rect", { x: x + 1, y: y + 1, width: Math.max(1, cell - 2), height: tall - 2, rx: 3, style: `fill:${fill};stroke:var(--line)` });
  box.append(svg("title", {}, `${chart.rows[row]}, ${chart.columns[column]}: ${full}`));
  const words = svg("text", { x: x + cell / 2, y: y + tall / 2 + 4, "text-anchor": "middle", style: `fill:${readable(fill)}` }, text.length * 6.6 < cell + 4 ? text : "");
  return [box, words];
}

// Whichever of ink and ground can be read on a colour.
function readable(fill) {
  return Math.abs(luminance("var(--ink)") - luminance(fill)) >= Math.abs(luminance("var(--panel)") - luminance(fill)) ? "var(--ink)" : "var(--panel)";
}
function luminance(value) {
  const text = resolved(value), unit = text.startsWith("color(") ? 1 : 255;
  const [red, green, blue] = text.match(/[\d.]+/g).map(Number).map((part) => Math.sqrt(part / unit));
  return 0.3 * red + 0.59 * green + 0.11 * blue;
}
