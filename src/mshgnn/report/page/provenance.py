"""What was run: versions, seeds, splits, times."""

from __future__ import annotations

from collections.abc import Sequence

from mshgnn.report.page.contents import Subject
from mshgnn.report.page.section import Block, Section, Table, Text, for_each


def section(subjects: Sequence[Subject]) -> Section:
    """A table for each subject, and its whole description."""
    lead = "Everything that is needed to run it again, and to know on what machine these numbers came about."
    made = for_each("provenance", "What was run", lead, subjects, _blocks)
    assert isinstance(made, Section)
    return made


def _blocks(number: int, subject: Subject) -> list[Block]:
    blocks: list[Block] = [Table("The run", ["", ""], [list(fact) for fact in subject.facts])]
    if subject.config:
        blocks.append(Text(subject.config, code=True))
    return blocks
