#!/usr/bin/env bash
# 3. A start without labels: 20 intents have names, 600 texts have none. A person labels 60 texts.
. "$(dirname "$0")/common.sh"
prepare start

salience describe intents.yaml --test test.csv --output runs/described
salience suggest runs/described pool.csv --count 60 --output described.csv
salience suggest minilm pool.csv --count 60 --output encoder.csv
prepare label

# The descriptions with the rows that each way has chosen; the regression alone, which is the quickest comparison.
for chosen in described encoder random; do
    salience train labelled-$chosen.csv --label-descriptions intents.yaml --trained-layers 0 \
        --test test.csv --output runs/on-$chosen
done
salience train labelled-described.csv --label-descriptions intents.yaml --effort quick --test test.csv --output runs/tuned
