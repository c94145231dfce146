#!/usr/bin/env bash
# Every check of the extension: format, lint, types, and its tests in a real VS Code.
#
# Where Node or Chromium is missing and cannot be installed, it says so in one line and
# succeeds; with FXLS_TEST_ALL, which continuous integration sets, it fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

missing() {
  echo "VS Code: not tested, because $1"
  [ -z "${FXLS_TEST_ALL:-}" ]
  exit
}
has() { command -v "$1" >/dev/null; }

has npm || missing 'there is no npm: install Node'
[ "$(uname -sm)" = 'Linux x86_64' ] || missing "its tests run on Linux x86-64, not on $(uname -sm)"
has chromium || { [ "$(id -u)" = 0 ] && has apt-get; } ||
  missing 'there is no Chromium: apt-get install chromium, as root'

[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --ignore-scripts
failed=0
for part in format:check lint typecheck; do npm run --silent "$part" || failed=1; done
./test.sh || failed=1
exit $failed
