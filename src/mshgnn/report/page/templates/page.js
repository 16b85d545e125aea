// Draw everything, again when the width or the colours change.
const hosts = [...document.querySelectorAll("[data-chart]")];
const draw = (host) => {
  const chart = data.charts[Number(host.dataset.chart)];
  drawers[chart.kind](host, chart);
  host.dataset.width = host.clientWidth;
};
const drawAll = () => hosts.forEach(draw);
const watcher = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.clientWidth && target.clientWidth !== Number(target.dataset.width)) draw(target);
});
hosts.forEach((host) => watcher.observe(host));

const root = document.documentElement, button = document.getElementById("scheme"), dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => root.dataset.scheme ? root.dataset.scheme === "dark" : dark.matches;
const painted = () => {
  button.setAttribute("aria-pressed", String(isDark()));
  drawAll();
};
button.addEventListener("click", () => {
  root.dataset.scheme = isDark() ? "light" : "dark";
  painted();
});
dark.addEventListener("change", painted);
painted();

// Paper is white, and nothing on it can be unfolded.
let before = null;
addEventListener("beforeprint", () => {
  if (before) return;
  before = { scheme: root.dataset.scheme, open: [...document.querySelectorAll("details:not([open])")] };
  root.dataset.scheme = "light";
  before.open.forEach((details) => { details.open = true; });
  drawAll();
});
addEventListener("afterprint", () => {
  if (!before) return;
  if (before.scheme) root.dataset.scheme = before.scheme; else delete root.dataset.scheme;
  before.open.forEach((details) => { details.open = false; });
  before = null;
  drawAll();
});

// The link of the section in view.
const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.getAttribute("href").slice(1), link]));
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    links.forEach((link) => link.removeAttribute("aria-current"));
    links.get(target.id)?.setAttribute("aria-current", "true");
  }
}, { rootMargin: "-20% 0px -70% 0px" });
document.querySelectorAll("main > section").forEach((section) => seen.observe(section));
