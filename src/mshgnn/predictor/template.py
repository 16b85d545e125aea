"""``mshgnn init``: a commented config that says what was understood of a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from mshgnn.data import METRICS, read_own
from mshgnn.errors import UserError
from mshgnn.files import written
from mshgnn.predictor.config import TrainConfig
from mshgnn.predictor.output import check_out
from mshgnn.predictor.splitting import settle

TEMPLATE = """\
# Train with: mshgnn train --config {out} --out model/
data: {data}
target: {target}            # columns, in the order of the outputs
objective: {objective}      # classify, rank, regress or multilabel
metric: {metric}            # one of: {metrics}
smiles_column: {smiles}
id_column: {id}             # of nodes; null: id, or the first column
weight_column: {weight}     # a column that says how much each row counts in the loss
ignore: {ignore}            # columns to leave out
directed: {directed}        # true: edges go one way only
unseen: {unseen}            # labels that the training part lacks: other, a column of their own, or error
on_error: {on_error}        # skip: leave out rows that cannot be read

split: {split}              # random, stratified, scaffold, column or file
split_column: {split_column} # with train, val and test
folds: 1                    # 5 trains an ensemble and tests on every row
seed: 0

model:
  name: msh-stable          # any name of 'mshgnn models'; its options follow
  # hidden_channels: 64
  num_layers: {layers}
  head_layers: {head}
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


def write_template(config: TrainConfig, out: Path) -> None:
    """Read the data once and write the config they ask for; a file that is there is left alone."""
    check_out(out, Path(config.data))
    if out.exists():
        raise UserError(f"{out}: is there already; choose another --out")
    dataset = read_own(config.data, replace(config.asked(), on_error="skip")).dataset
    text = TEMPLATE.format(
        out=out,
        data=json.dumps(config.data),
        target=json.dumps(list(dataset.target_names)),
        objective=dataset.objective,
        metric=dataset.metric,
        metrics=", ".join(METRICS[dataset.objective]),
        smiles=json.dumps(config.smiles_column),
        id=json.dumps(config.id_column),
        weight=json.dumps(config.weight_column),
        ignore=json.dumps(list(config.ignore)),
        directed=json.dumps(config.directed),
        unseen=config.unseen,
        on_error=config.on_error,
        split=settle(config.split, dataset),
        split_column=json.dumps(config.split_column),
        layers=config.options.get("num_layers", 3),
        head=config.options.get("head_layers", 1),
        epochs=config.training.epochs,
        patience=config.training.patience,
        rate=config.training.learning_rate,
        batch=config.training.batch_size,
    )
    with written(out) as file:
        file.write(text.encode())
