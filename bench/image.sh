#!/usr/bin/env bash
# Builds the image of an export by its Dockerfile and asks its server for a prediction, where there is no Docker engine.
#
#     bench/image.sh exported "Somebody has my card number, please block it"
#
# It needs root, and buildah and debootstrap of Debian. The base image python:3.11-slim cannot be loaded without a
# registry of images: Debian 12, on which it is built, stands in for it, with Debian's Python 3.11 and this machine's
# certificates. The instructions of the Dockerfile are carried out as they stand, but for HEALTHCHECK, which images of
# this kind (OCI) do not have: its command is run by hand.
set -euo pipefail

exported=$(realpath "${1:?name the folder of an export}")
text=${2:?give a text}
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
work=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; buildah rm "${container:-}" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

base=$work/base
debootstrap --variant=minbase --include=python3,python3-pip,ca-certificates bookworm "$base" >"$work/debootstrap.log"
ln -s python3 "$base/usr/bin/python"
rm "$base"/usr/lib/python3*/EXTERNALLY-MANAGED # the image's Python belongs to nobody else
certificates=/etc/ssl/certs/ca-certificates.crt
cp "$certificates" "$base$certificates"
cp /etc/resolv.conf "$base/etc/resolv.conf"
container=$(buildah from scratch)
buildah add --quiet "$container" "$base" / >/dev/null
buildah config --env PIP_CERT="$certificates" --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    "$container"
buildah commit --quiet "$container" localhost/python:3.11-slim >/dev/null
buildah rm "$container" >/dev/null

buildah bud --network host --pull-never --tag exported "$exported"
container=$(buildah from --pull-never localhost/exported)
config='import json, sys; print(*json.load(sys.stdin)["OCIv1"]["config"]["Cmd"], sep="\n")'
mapfile -t command < <(buildah inspect "$container" | python3 -c "$config")
buildah run --network host "$container" -- "${command[@]}" >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 60); do
    curl --silent --fail http://127.0.0.1:8000/health >/dev/null && break
    sleep 1
done
buildah run --network host "$container" -- whoami
buildah run --network host "$container" -- \
    python -c "from urllib.request import urlopen; print(urlopen('http://127.0.0.1:8000/health').status)"
python3 -c 'import json, sys; print(json.dumps({"texts": [sys.argv[1]]}))' "$text" |
    curl --silent --data @- http://127.0.0.1:8000/predict
echo
