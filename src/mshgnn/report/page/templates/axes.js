// Round numbers for an axis, and the frame that lines are drawn in.
function ticks(low, high, count) {
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * 0.999) * power;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) {
    found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  }
  return found;
}

function extent(values, fallback) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return fallback;
  return low === high ? [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1] : [low, high];
}

const padded = ([low, high], share) => [low - (high - low) * share, high + (high - low) * share];

function scale([low, high], from, to) {
  const place = (value) => from + (value - low) / (high - low) * (to - from);
  place.back = (pixel) => low + (pixel - from) / (to - from) * (high - low);
  return place;
}

// Space inside which things are drawn, its grid and its labels.
function frame(width, height, xs, ys, options) {
  const side = 46, bottom = options.x_label ? 40 : 24, top = options.y_label ? 26 : 8;
  const x = scale(xs, side, width - 10), y = scale(ys, height - bottom, top);
  const parts = [];
  for (const value of ticks(ys[0], ys[1], Math.max(2, height / 60))) {
    parts.push(svg("line", { class: "grid", x1: side, x2: width - 10, y1: y(value), y2: y(value) }));
    parts.push(svg("text", { x: side - 6, y: y(value) + 4, "text-anchor": "end" }, written(value, options.y_share)));
  }
  for (const value of ticks(xs[0], xs[1], Math.max(2, width / 90))) {
    if (options.whole && !Number.isInteger(value)) continue;
    parts.push(svg("text", { x: x(value), y: height - bottom + 16, "text-anchor": "middle" }, written(value, options.x_share)));
  }
  if (options.x_label) {
    parts.push(svg("text", { x: (side + width - 10) / 2, y: height - 4, "text-anchor": "middle" }, fitted(options.x_label, width / 7)));
  }
  if (options.y_label) parts.push(svg("text", { x: 0, y: 10 }, fitted(options.y_label, width / 7)));
  return { x, y, parts, side, bottom, top };
}
