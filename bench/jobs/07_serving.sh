#!/usr/bin/env bash
# 7. A model leaves the machine: ONNX, 8 bits, a server without salience and torch, and requests.
. "$(dirname "$0")/common.sh"

salience demo-data banking
salience train banking/banking_train.csv --trained-layers 0 --test banking/banking_test.csv --output runs/banking
salience export runs/banking --output exported
salience export runs/banking --int8 --accept --output exported-int8
salience predict runs/banking banking/banking_test.csv --output of-run.csv
salience predict exported banking/banking_test.csv --output of-export.csv
shown cut -d, -f3 <(tail -n 3 of-run.csv) <(tail -n 3 of-export.csv)

(cd exported && exec python -m uvicorn serve:app --port 8765 --log-level warning) &
trap 'kill $!' EXIT
until curl --silent --fail --output health.json http://127.0.0.1:8765/health; do sleep 1; done
shown curl --silent --data '{"texts": ["Somebody has my card number", "Where is my new card?"]}' \
    http://127.0.0.1:8765/predict
shown curl --silent --data '{"text": "Where is my new card?"}' http://127.0.0.1:8765/predict
shown curl --silent --data '{"texts": [' http://127.0.0.1:8765/predict
