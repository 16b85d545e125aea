"""``mshgnn init``: a commented config that says what was understood of a file."""

from __future__ import annotations

import json
from pathlib import Path

from mshgnn.data import METRICS, read_own
from mshgnn.data.readers.asked import Asked
from mshgnn.errors import UserError
from mshgnn.predictor.config import How, check_config
from mshgnn.predictor.splitting import settle

TEMPLATE = """\
# Train with: mshgnn train --config {out} --out model/
data: {data}
target: {target}            # columns, in the order of the outputs
objective: {objective}      # classify, rank, regress or multilabel
metric: {metric}            # one of: {metrics}
smiles_column: {smiles}
weight_column: null         # a column that says how much each row counts in the loss
ignore: []                  # columns to leave out
on_error: stop              # skip: leave out rows that cannot be read

split: {split}              # random, stratified, scaffold, column or file
folds: 1                    # 5 trains an ensemble and tests on every row
seed: 0

model:
  name: msh-stable          # any name of 'mshgnn models'; its options follow
  # hidden_channels: 64
  num_layers: {layers}
  # dropout: 0.1

training:
  epochs: {epochs}          # at most; the epoch that is best on validation is kept
  patience: {patience}      # stop after so many epochs without a better one
  learning_rate: {rate}
  batch_size: {batch}
  class_weights: none       # balanced: rare classes count as much as common ones

coverage: 0.9               # the share of new values that intervals promise to hold (regress)
controls: true              # measure a constant, and for molecules a forest on Morgan bits
"""


def write_template(data: Path, target: tuple[str, ...], smiles: str, out: Path) -> None:
    """Read the data once and write the config they ask for; a file that is there is left alone."""
    if out.exists():
        raise UserError(f"{out}: is there already; choose another --out")
    dataset = read_own(data, Asked(target=target, smiles=smiles, on_error="skip")).dataset
    split: How = settle("auto", dataset)
    defaults = check_config({"data": str(data)}, "init")
    text = TEMPLATE.format(
        out=out,
        data=json.dumps(str(data)),
        target=json.dumps(list(dataset.target_names)),
        objective=dataset.objective,
        metric=dataset.metric,
        metrics=", ".join(METRICS[dataset.objective]),
        smiles=json.dumps(smiles),
        split=split,
        layers=defaults.options.get("num_layers", 3),
        epochs=defaults.training.epochs,
        patience=defaults.training.patience,
        rate=defaults.training.learning_rate,
        batch=defaults.training.batch_size,
    )
    out.write_text(text, encoding="utf-8")
