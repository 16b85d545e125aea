// Graphs drawn small, side by side.
drawers.cards = (host, chart) => {
  const subject = data.subjects[chart.subject];
  const cards = chart.cards.map((card) => html("li", { class: "card" },
    drawGraph(subject.drawings[card.item], subject.vocabulary, card.weights, `the graph of ${card.title}`),
    html("p", { class: "card-title" }, card.title), ...card.lines.map((line) => html("p", {}, line))));
  host.replaceChildren(html("ul", { class: "cards-grid" }, ...cards));
};
