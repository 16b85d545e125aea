// A graph drawn small from its packed text: places, edges, labels and a marked node.
const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

function drawGraph(packed, vocabulary, weights, name) {
  if (!packed) return html("p", { class: "undrawn" }, "too large to be drawn small");
  const [places, edges, labels, centre] = packed.split("|");
  const nodes = (places.match(/..../g) || []).map((four) => [Number(four.slice(0, 2)), Number(four.slice(2))]);
  const picture = svg("svg", { class: "graph", viewBox: "-4 -4 108 108", role: "img", "aria-label": name });
  (edges.match(/../g) || []).forEach((pair, index) => {
    const [from, to] = [...pair].map((one) => nodes[DIGITS.indexOf(one)]);
    const weight = weights && weights.length ? weights[index] : null;
    const style = weight === null ? null : `stroke:color-mix(in srgb, var(--c1) ${Math.round(100 * weight)}%, var(--line));stroke-width:${(0.8 + 3.4 * weight).toFixed(2)};opacity:1`;
    picture.append(svg("line", { class: "edge", x1: from[0], y1: from[1], x2: to[0], y2: to[1], style }));
  });
  const radius = nodes.length <= 14 ? 3.4 : nodes.length <= 30 ? 2.6 : 2;
  nodes.forEach(([x, y], index) => {
    const label = labels ? DIGITS.indexOf(labels[index]) : 0, word = vocabulary[label] || "";
    const tone = label === 0 ? "var(--muted)" : colour((label - 1) % 8);
    if (label > 0 && word.length <= 2) {
      picture.append(svg("circle", { cx: x, cy: y, r: radius + 2, style: "fill:var(--ground)" }));
      picture.append(svg("text", { x, y, style: `fill:${tone}` }, word));
    } else {
      picture.append(svg("circle", { cx: x, cy: y, r: label === 0 && vocabulary.length ? radius * 0.6 : radius, style: `fill:${tone}` }));
    }
  });
  if (centre) {
    const [x, y] = nodes[DIGITS.indexOf(centre)];
    picture.append(svg("circle", { class: "mark", cx: x, cy: y, r: radius + 3 }));
  }
  return picture;
}

// What is said of a shown item.
function described(subject, item) {
  const number = (value) => value === null ? "unknown" : written(value, false);
  const chance = (value) => `${Math.round(100 * value)} %`;
  if (subject.objective === "classes") {
    const truth = subject.truth[item] < 0 ? "unknown" : subject.names[subject.truth[item]];
    return [["true", truth], ["predicted", `${subject.names[subject.found[item]]} (${chance(subject.sure[item])})`]];
  }
  const pairs = subject.names.map((name, target) => [subject.names.length > 1 ? name : "", subject.truth[item][target], subject.found[item][target]]);
  if (subject.objective === "multilabel") return pairs.map(([name, truth, found]) => [name || "label", `true ${truth === null ? "unknown" : truth}, said ${chance(found)}`]);
  if (pairs.length === 1) return [["true", number(pairs[0][1])], ["predicted", number(pairs[0][2])]];
  return pairs.map(([name, truth, found]) => [name, `${number(truth)}, predicted ${number(found)}`]);
}
