#!/usr/bin/env bash
# with_modules.sh MODULES PACKAGES SCRIPT [ARGUMENTS...]: runs a test in Debian's Python, or says
# that a module is missing. Commas separate MODULES; PACKAGES are those of Debian that have them.
set -uo pipefail
python=/usr/bin/python3 modules=$1 packages=$2
shift 2
if ! "$python" -c "import $modules" 2> /dev/null; then
  echo "SKIPPED: $python has no ${modules//,/ and } (Debian: $packages)"
  exit 0
fi
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
exec "$python" "$@"
