"""Explanations as one HTML page that needs nothing else: light and dark, from phone to wide screen, print."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape

from mshgnn.explanation.drawing import as_svg
from mshgnn.explanation.explain import Explanation, Finding
from mshgnn.explanation.fidelity import SHARES, Fidelity
from mshgnn.explanation.methods import METHODS
from mshgnn.explanation.words import leading

STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --ground: #ffffff; --card: #f6f6f4; --line: #d9d9d4; --soft: #5c5c60;
  --for: #c24f00; --against: #1c5fb0; --good: #17663a; --half: #7a5200; --bad: #a31621; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececec; --ground: #161618; --card: #222225; --line: #3a3a3f;
  --soft: #b0b0b6; --for: #ff9d5c; --against: #7fb6ff; --good: #6fd39a; --half: #e5b95c; --bad: #ff8f8f; }
  article img { filter: brightness(.9); } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1400px; padding: 1.2rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .2rem; }
h3 { font-size: 1.02rem; margin: 0; } p { margin: .3rem 0; } .soft { color: var(--soft); font-size: .92rem; }
code { overflow-wrap: anywhere; }
.cards { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 280px), 1fr));
  margin: .8rem 0; }
article { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .9rem; min-width: 0; }
article img { width: 100%; height: auto; background: #fff; border-radius: 6px; margin: .5rem 0; display: block; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
td, th { padding: .15rem .3rem; text-align: left; overflow-wrap: anywhere; border-top: 1px solid var(--line); }
th { font-weight: 600; }
td.n, th.n { overflow-wrap: normal; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.for { color: var(--for); } .against { color: var(--against); }
.good { color: var(--good); } .half { color: var(--half); } .bad { color: var(--bad); }
.verdict { font-weight: 600; } @media (min-width: 640px) { .verdict { min-height: 6em; } }
details { margin-top: .5rem; } summary { cursor: pointer; }
@media print { article { break-inside: avoid; } body { padding: 0; font-size: 11pt; } article img { filter: none; } }
"""
FOOT = (
    "Fidelity compares a method's ranking of the nodes with random ones. Its nodes are taken away, and kept alone, a "
    "tenth to a half of them at a time: 1 is better than every random ranking, 0.5 is chance."
)


def explanation_page(explanations: Sequence[Explanation], source: str) -> str:
    """The page of all items; ``source`` says of which model and data."""
    sections = "\n".join(_section(explanation) for explanation in explanations)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Why: {escape(explanations[0].title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>Why the model says so</h1>\n<p class="soft">{escape(source)}</p>\n'
        '<p><span class="for">Orange</span> speaks for the prediction, <span class="against">blue</span> against it. '
        "The method to believe most comes first.</p>\n"
        f'{sections}\n<p class="soft">{FOOT}</p>\n</main>\n</body>\n</html>\n'
    )


def _section(explanation: Explanation) -> str:
    truth = f"; the file says <b>{escape(explanation.truth)}</b>" if explanation.truth else ""
    smiles = "" if explanation.smiles is None else f'<p class="soft"><code>{escape(explanation.smiles)}</code></p>'
    cards = "\n".join(_card(explanation, finding) for finding in explanation.findings)
    notes = []
    if explanation.bands:
        shares = ", ".join(f"{100 * share:.0f} % at frequency {key:g}" for key, share in explanation.bands.items())
        notes.append(f"Energy of the messages by band: {shares}.")
    if explanation.left_out:
        listed = "; ".join(f"{name}: {reason}" for name, reason in explanation.left_out.items())
        notes.append(f"Left out: {listed}.")
    said = "".join(f'<p class="soft">{escape(note)}</p>' for note in notes)
    return (
        f"<section>\n<h2>{escape(explanation.title)}</h2>\n<p><b>{escape(explanation.prediction)}</b>{truth}</p>\n"
        f'{smiles}<div class="cards">\n{cards}\n</div>\n{said}</section>'
    )


def _card(explanation: Explanation, finding: Finding) -> str:
    method = METHODS[finding.method]
    picture = b64encode(as_svg(explanation, finding).encode()).decode()
    rows = leading(explanation, finding)
    alt = f"{method.title}: " + ", ".join(f"{name} {value:+.3g}" for name, value in rows)
    body = "".join(
        f'<tr><td>{escape(name)}</td><td class="n {"for" if value >= 0 else "against"}">{value:+.3g}</td></tr>'
        for name, value in rows
    )
    return (
        f"<article>\n<h3>{escape(method.title)}</h3>\n{_verdict(finding)}"
        f'<img src="data:image/svg+xml;base64,{picture}" alt="{escape(alt)}" width="460" height="340">\n'
        f'<table><thead><tr><th scope="col">substructure</th><th scope="col" class="n">importance</th></tr></thead>'
        f'<tbody>{body}</tbody></table>\n<p class="soft">Importance is {escape(method.says)}.</p>\n'
        f"{_curves(finding.fidelity)}</article>"
    )


def _verdict(finding: Finding) -> str:
    if finding.fidelity is None:
        return f'<p class="verdict half">{escape(finding.verdict.capitalize())}</p>\n'
    verdict = finding.verdict
    kind = "bad" if verdict.startswith("do not") else "half" if "half" in verdict else "good"
    return (
        f'<p class="verdict {kind}">{escape(verdict.capitalize())}.</p>\n'
        f'<p class="soft">Fidelity {finding.fidelity.score:.2f}: necessity {finding.fidelity.necessity:.2f}, '
        f"sufficiency {finding.fidelity.sufficiency:.2f}.</p>\n"
    )


def _curves(fidelity: Fidelity | None) -> str:
    if fidelity is None:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{100 * share:.0f} %</th><td class="n">{without:.2f}</td>'
        f'<td class="n">{by_chance:.2f}</td><td class="n">{alone:.2f}</td><td class="n">{chance_alone:.2f}</td></tr>'
        for share, (without, alone), (by_chance, chance_alone) in zip(
            SHARES, fidelity.curve, fidelity.random, strict=True
        )
    )
    heads = "".join(
        f'<th scope="col" class="n">{name}</th>' for name in ("nodes", "without", "random", "alone", "random")
    )
    return (
        f"<details><summary>The score without these nodes, and with them alone</summary>\n"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>\n"
        f'<p class="soft">The score of the whole is {fidelity.whole:.2f}.</p></details>\n'
    )
