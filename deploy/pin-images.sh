#!/bin/sh
# Pins every image of compose.yaml and Dockerfile by the digest that its tag has in the registry now, so that a changed
# tag cannot change what runs. Run it again to update: a digest is replaced by the tag's current one. Needs Docker.
set -eu
cd "$(dirname "$0")/.."

images=$(sed -nE 's/^ *image: ([^ @]+:[^ @]+)(@sha256:[0-9a-f]+)?$/\1/p; s/^ARG NODE=([^ @]+)(@sha256:[0-9a-f]+)?$/\1/p' \
  compose.yaml Dockerfile)
for image in $images; do
  digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$image")
  case $digest in
    sha256:*) ;;
    *)
      echo "No digest of $image: $digest" >&2
      exit 1
      ;;
  esac
  for file in compose.yaml Dockerfile; do
    sed -E "s|$image(@sha256:[0-9a-f]+)?\$|$image@$digest|" "$file" > "$file.pinned"
    cat "$file.pinned" > "$file"
    rm "$file.pinned"
  done
  echo "$image@$digest"
done
