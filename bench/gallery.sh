#!/usr/bin/env bash
# The pages of docs/gallery, from the questions of `salience demo-data`: ten minutes of one core.
set -euo pipefail
pages=$(cd "$(dirname "$0")/../docs/gallery" && pwd)
cd "$(mktemp -d)"
salience demo-data banking
train=banking/banking_train.csv test=banking/banking_test.csv
salience train $train --test $test --trained-layers 0 --output run
salience audit $train --test $test --run run --output audited
salience explain run $test --most 40 --explainer integrated-gradients --output explanations.html
salience faithfulness run $test --rows 100 --explainer gradient,integrated-gradients --output tested
salience correct run $train
salience compare $train --test $test --methods plain,senmixup:alpha=1 --seeds 0,1,2 --set effort=quick --output compared
cp run/report.html explanations.html corrections.html "$pages"
cp audited/*.html "$pages/audit.html"
cp tested/*.html "$pages/faithfulness.html"
cp compared/report.html "$pages/comparison.html"
