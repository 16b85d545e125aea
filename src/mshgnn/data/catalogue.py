"""What is known about every data set by name: where it comes from and what the paper's tables say of it."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Literal

from mshgnn.data.dataset import DataError, Metric
from mshgnn.data.sources.store import mirror

Family = Literal[
    "tu",
    "amazon",
    "coauthor",
    "heterophilous",
    "structure-frequency",
    "neighbour-distribution",
    "pna-nodes",
    "pna-graphs",
]
GENERATED: tuple[Family, ...] = ("structure-frequency", "neighbour-distribution", "pna-nodes", "pna-graphs")
"""Families that are made by the package, not read from files."""


@dataclass(frozen=True)
class Figures:
    """Sizes of a data set: averages over graphs for graph tasks, totals for a node task; edges undirected."""

    items: int
    nodes: float
    edges: float
    classes: int | None = None
    features: int | None = None


@dataclass(frozen=True)
class Entry:
    """One data set: its name, PyG class, file and published figures."""

    name: str
    family: Family
    file: str
    member: str
    metric: Metric = "accuracy"
    aliases: tuple[str, ...] = ()
    unlabelled: Literal["degree", "constant"] = "degree"
    """Features when the files have neither node labels nor attributes."""
    degree_cap: int = 511
    """Degrees from here on share the last column of the one-hot degree."""
    expected: Figures | None = None
    """What the known files hold (see ``Figures``): anything else means an altered file."""
    paper: Figures | None = None
    """What the paper's table states."""
    paper_largest_component: bool = False
    """Whether the paper's figures are those of the largest connected component."""

    @property
    def task(self) -> Literal["graph", "node"]:
        """Whether graphs or nodes have the targets."""
        return "graph" if self.family in ("tu", "structure-frequency", "pna-graphs") else "node"


def _tu(
    name: str,
    expected: Figures | None = None,
    paper: Figures | None = None,
    aliases: tuple[str, ...] = (),
    unlabelled: Literal["degree", "constant"] = "degree",
    degree_cap: int = 511,
) -> Entry:
    return Entry(
        name,
        "tu",
        f"{name}.zip",
        name,
        aliases=aliases,
        unlabelled=unlabelled,
        degree_cap=degree_cap,
        expected=expected,
        paper=paper,
    )


_PAPER_SETS = (
    _tu("MUTAG", Figures(188, 17.93, 19.79, 2, 7), Figures(188, 17.93, 19.79, 2)),
    _tu("PTC", Figures(344, 25.56, 25.96, 2, 19), Figures(344, 25.56, 26.96, 2)),
    _tu("PTC_MR", Figures(344, 14.29, 14.69, 2, 18)),
    _tu("PROTEINS", Figures(1113, 39.06, 72.82, 2, 3), Figures(1113, 39.06, 72.82, 2)),
    _tu("NCI1", Figures(4110, 29.87, 32.30, 2, 37), Figures(4110, 29.68, 32.13, 2)),
    _tu("IMDB-BINARY", Figures(1000, 19.77, 96.53, 2, 136), Figures(1000, 19.77, 96.53, 2), ("IMDB-B",)),
    _tu("IMDB-MULTI", Figures(1500, 13.00, 65.94, 3, 89), Figures(1500, 13.00, 65.94, 3), ("IMDB-M",)),
    _tu(
        "REDDIT-BINARY",
        Figures(2000, 429.63, 497.75, 2, 1),
        Figures(2000, 429.63, 497.75, 2),
        ("REDDIT-B", "RDT-B"),
        unlabelled="constant",
        degree_cap=127,
    ),
    _tu("COLLAB", Figures(5000, 74.49, 2457.78, 3, 492), Figures(5000, 74.49, 2457.78, 3)),
    Entry(
        "AmazonPhoto",
        "amazon",
        "amazon_electronics_photo.npz",
        "photo",
        aliases=("AmzPhoto", "Photo"),
        expected=Figures(7650, 7650, 119_081, 8, 745),
        paper=Figures(7487, 7487, 119_043),
        paper_largest_component=True,
    ),
    Entry(
        "AmazonComputers",
        "amazon",
        "amazon_electronics_computers.npz",
        "computers",
        aliases=("AmzComputers", "Computers"),
        expected=Figures(13_752, 13_752, 245_861, 10, 767),
        paper=Figures(13_381, 13_381, 245_778),
        paper_largest_component=True,
    ),
    Entry(
        "CoauthorPhysics",
        "coauthor",
        "ms_academic_phy.npz",
        "physics",
        aliases=("CoauthorPhy", "Physics"),
        expected=Figures(34_493, 34_493, 247_962, 5, 8415),
        paper=Figures(34_493, 34_493, 247_962),
    ),
    Entry(
        "Minesweeper",
        "heterophilous",
        "minesweeper.npz",
        "minesweeper",
        metric="roc_auc",
        expected=Figures(10_000, 10_000, 39_402, 2, 7),
        paper=Figures(10_000, 10_000, 39_402),
    ),
)

_OTHER_SETS = (
    Entry("CoauthorCS", "coauthor", "ms_academic_cs.npz", "cs", aliases=("CS",)),
    Entry("RomanEmpire", "heterophilous", "roman_empire.npz", "roman-empire"),
    Entry("AmazonRatings", "heterophilous", "amazon_ratings.npz", "amazon-ratings"),
    Entry("Tolokers", "heterophilous", "tolokers.npz", "tolokers", metric="roc_auc"),
    Entry("Questions", "heterophilous", "questions.npz", "questions", metric="roc_auc"),
)


def _generated(family: Family, name: str, member: str, metric: Metric, expected: Figures) -> Entry:
    return Entry(name, family, "", member, metric, expected=expected)


_GENERATED_SETS = (
    *(
        _generated("structure-frequency", f"structure-frequency-{variant}", variant, "accuracy", expected)
        for variant, expected in (
            ("fixed", Figures(3000, 30.0, 29.67, 30, 1)),
            ("varied", Figures(3000, 30.11, 29.77, 30, 1)),
            ("wellposed", Figures(3000, 30.12, 29.79, 30, 1)),
        )
    ),
    _generated("neighbour-distribution", "neighbour-distribution", "", "mse", Figures(20_000, 20_000, 92_562, 0, 1)),
    _generated("pna-nodes", "pna-multitask-nodes", "", "log10_mse", Figures(132_480, 132_480, 339_518, 0, 2)),
    _generated("pna-graphs", "pna-multitask-graphs", "", "log10_mse", Figures(7040, 18.82, 48.23, 0, 2)),
    _generated(
        "pna-nodes", "pna-multitask-nodes-larger", "larger", "log10_mse", Figures(169_920, 169_920, 540_462, 0, 2)
    ),
    _generated("pna-graphs", "pna-multitask-graphs-larger", "larger", "log10_mse", Figures(7360, 23.09, 73.43, 0, 2)),
)

# Classification sets of the TU collection that are not in the paper. They load by the same door.
_TU_COLLECTION = (
    "AIDS",
    "BZR",
    "BZR_MD",
    "COX2",
    "COX2_MD",
    "DHFR",
    "DHFR_MD",
    "ER_MD",
    "FRANKENSTEIN",
    "MCF-7",
    "MCF-7H",
    "MOLT-4",
    "MOLT-4H",
    "Mutagenicity",
    "NCI109",
    "NCI-H23",
    "NCI-H23H",
    "OVCAR-8",
    "OVCAR-8H",
    "P388",
    "P388H",
    "PC-3",
    "PC-3H",
    "PTC_FM",
    "PTC_FR",
    "PTC_MM",
    "SF-295",
    "SF-295H",
    "SN12C",
    "SN12CH",
    "SW-620",
    "SW-620H",
    "UACC257",
    "UACC257H",
    "Yeast",
    "YeastH",
    "DD",
    "ENZYMES",
    "KKI",
    "OHSU",
    "Peking_1",
    "PROTEINS_full",
    "COIL-DEL",
    "COIL-RAG",
    "Cuneiform",
    "Fingerprint",
    "FIRSTMM_DB",
    "Letter-high",
    "Letter-low",
    "Letter-med",
    "MSRC_9",
    "MSRC_21",
    "MSRC_21C",
    "DBLP_v1",
    "deezer_ego_nets",
    "github_stargazers",
    "REDDIT-MULTI-5K",
    "REDDIT-MULTI-12K",
    "reddit_threads",
    "twitch_egos",
    "TWITTER-Real-Graph-Partial",
    "COLORS-3",
    "SYNTHETIC",
    "SYNTHETICnew",
    "Synthie",
    "TRIANGLES",
    *(
        f"{source}_ct{number}"
        for source in ("dblp", "facebook", "highschool", "infectious", "mit", "tumblr")
        for number in (1, 2)
    ),
    *(
        f"Tox21_{assay}_{part}"
        for assay in (
            "AhR",
            "AR",
            "AR-LBD",
            "ARE",
            "aromatase",
            "ATAD5",
            "ER",
            "ER-LBD",
            "HSE",
            "MMP",
            "p53",
            "PPAR-gamma",
        )
        for part in ("training", "testing", "evaluation")
    ),
)

CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        *_PAPER_SETS,
        *_OTHER_SETS,
        *_GENERATED_SETS,
        *(_tu(name, unlabelled="constant" if name.startswith("REDDIT") else "degree") for name in _TU_COLLECTION),
    )
}
PAPER_SETS: tuple[str, ...] = tuple(entry.name for entry in _PAPER_SETS)


def _folded(name: str) -> str:
    """Names are compared without case and without separators."""
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


_BY_FOLDED_NAME = {_folded(name): entry for entry in CATALOGUE.values() for name in (entry.name, *entry.aliases)}


def known(name: str) -> Entry | None:
    """The entry of a name or alias, in any case. A TU zip that only lies in the mirror is found by its exact name."""
    entry = _BY_FOLDED_NAME.get(_folded(name))
    if entry is not None:
        return entry
    folder = mirror()
    if folder is not None and re.fullmatch(r"\w[\w.-]*", name) and (folder / f"{name}.zip").is_file():
        return _tu(name)
    return None


def find(name: str) -> Entry:
    """The entry of a name; an unknown one is refused with the nearest."""
    entry = known(name)
    if entry is not None:
        return entry
    near = difflib.get_close_matches(_folded(name), _BY_FOLDED_NAME, n=3, cutoff=0.5)
    hint = ", ".join(dict.fromkeys(_BY_FOLDED_NAME[key].name for key in near)) or ", ".join(PAPER_SETS)
    raise DataError(f"unknown data set {name!r}; nearest: {hint}")
