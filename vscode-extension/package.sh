#!/usr/bin/env bash
# Packages the extension with the wheel that it installs, which it builds from the clone.
#
#   package.sh PYTHON [FOLDER]    makes dist/fxls.vsix, with a Python that has `build`;
#                                 the wheel and the sdist lie in the folder as well
set -euo pipefail
python=$(realpath --no-symlinks "$1")
folder=${2:-}
[ -z "$folder" ] || folder=$(mkdir -p "$folder" && realpath "$folder")
cd "$(dirname "${BASH_SOURCE[0]}")"

# The wheel is built from the sdist, so that nothing gets in which lies about here.
mkdir -p dist
rm -f dist/fxls-*
"$python" -m build --no-isolation --outdir dist .. >dist/build.log 2>&1 ||
  { cat dist/build.log; exit 1; }
[ -z "$folder" ] || cp dist/fxls-*.whl dist/fxls-*.tar.gz "$folder"

[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --ignore-scripts
npm run --silent package >dist/package.log 2>&1 || { cat dist/package.log; exit 1; }
[ -z "$folder" ] || cp dist/fxls.vsix "$folder/$(basename dist/fxls-*.tar.gz .tar.gz).vsix"
