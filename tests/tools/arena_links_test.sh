#!/usr/bin/env bash
# gfbench arena --links runs the arena on hosts of on_links, link by link. A script in place of
# on_links shows what it is asked for; the true one needs root and namespaces.
set -uo pipefail
out=${TEST_TMPDIR:-/tmp}
net=--net=models/lenet.prototxt
short=(--batch=1 --rounds=1 --steps=1 --warmup=1)
export OMP_WAIT_POLICY=passive PATH=$PATH:/usr/sbin:/sbin

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

refused() { # PATTERN COMMAND...
  local pattern=$1
  shift
  "$@" > "$out/refused.txt" 2>&1
  [ $? = 2 ] || fail "not exit code 2: $*"
  grep -q -- "$pattern" "$out/refused.txt" || fail "no \"$pattern\": $(cat "$out/refused.txt")"
}

# on_links is looked for beside the program, not beside a link to it.
rm -rf "$out/alone" "$out/fake" "$out/package" "$out/true"
mkdir -p "$out"/{alone,fake,true} "$out"/package/{bin,tools}
cp -L tools/gfbench/gfbench "$out/alone/"
for folder in fake true package/bin; do ln "$out/alone/gfbench" "$out/$folder/"; done
refused "on_links is missing: neither $out/alone/on_links nor .*; copy tools/gfbench/on_links" \
  "$out/alone/gfbench" arena $net --links='1gbit 0'

# One rank per link; the link of 7 Mbit/s fails.
cat > "$out/fake/on_links" << 'END'
#!/usr/bin/env bash
printf '<%s>' "$@" | sed 's/--json=[^>]*/--json=.../' >> "$ASKED"
echo >> "$ASKED"
[ "$2" = 7mbit ] && exit 9
shift 3
exec "$@"
END
chmod +x "$out/fake/on_links"
export ASKED=$out/asked.txt
fake() { TMPDIR=$out "$out/fake/gfbench" arena $net "${short[@]}" "$@"; }

rm -f "$ASKED"
fake --links='1gbit 100us; 1.5mbit  0' --noreplay_update --replay=configs/none.prototxt \
  > "$out/none.txt" 2>&1
[ $? = 2 ] || fail "a missing file is not exit code 2"
[ "$(wc -l < "$ASKED")" = 1 ] || fail "a second link after the first one's failure"
grep -q -- '<--replay_update=false>' "$ASKED" || fail "no --noreplay_update: $(cat "$ASKED")"

rm -f "$ASKED"
fake --links='1gbit 100us; 1.5mbit  0' --hosts 3 --methods='LAZY FP32; a b = mode: TOPK' \
  --json="$out/links.json" > "$out/links.txt" || fail "--links"
flags="<$out/fake/gfbench><arena><$net><--batch=1><--methods=LAZY FP32; a b = mode: TOPK>"
flags+='<--rounds=1><--steps=1><--warmup=1><--json=...>'
printf '<3><%s>%s\n' '1gbit><100us' "$flags" '1.5mbit><0' "$flags" | diff - "$ASKED" ||
  fail "on_links is asked for something else"
[ "$(grep -cE '^(link 1gbit 100us, 3 hosts|link 1.5mbit 0, 3 hosts)$' "$out/links.txt")" = 2 ] ||
  fail "no headings"
[ "$(grep -cE '^a b +[0-9]' "$out/links.txt")" = 2 ] || fail "not two tables"
python3 - "$out/links.json" << 'PY' || fail "the figures of --links"
import json
import sys
with open(sys.argv[1]) as f:
    figures = json.load(f)
assert figures["hosts"] == 3, figures
assert [run["link"] for run in figures["links"]] == ["1gbit 100us", "1.5mbit 0"], figures
for run in figures["links"]:
    assert [line["name"] for line in run["methods"]] == ["nothing", "LAZY FP32", "a b"], run
PY
compgen -G "$out/gfbench_links_*" > /dev/null && fail "a temporary file is left"

# The first failure ends the command with its exit code; what was measured before is kept.
rm -f "$ASKED"
fake --links='1gbit 0;7mbit 1ms;1gbit 1ms' --methods=nothing --json="$out/part.json" \
  > "$out/part.txt" 2>&1
[ $? = 9 ] || fail "not the exit code of on_links"
[ "$(wc -l < "$ASKED")" = 2 ] || fail "a link after a failure"
grep -q '"7mbit 1ms" ended with exit code 9' "$out/part.txt" || fail "the link has no name"
[ "$(grep -c '"link": "1gbit 0"' "$out/part.json")" = 1 ] || fail "the first link has no figures"

# A signal to gfbench alone ends on_links, which tidies up before gfbench ends. In a script,
# commands in the background ignore SIGINT by default.
cat > "$out/alone/on_links" << 'END'
#!/usr/bin/env bash
trap 'sleep 0.5; echo tidy > "$ASKED"; exit 143' TERM
echo begun > "$ASKED"
sleep 1000 &
wait
END
chmod +x "$out/alone/on_links"
for case in HUP:129 INT:130 QUIT:131 TERM:143; do
  signal=${case%:*}
  rm -f "$ASKED"
  env --default-signal=INT,QUIT "$out/alone/gfbench" arena $net --links='1gbit 0; 1gbit 1ms' \
    > "$out/signal.txt" 2>&1 &
  for _ in $(seq 100); do
    [ -s "$ASKED" ] && break
    sleep 0.1
  done
  kill -s "$signal" $!
  wait $!
  code=$?
  [ $code = "${case#*:}" ] || fail "exit code $code after SIG$signal: $(cat "$out/signal.txt")"
  [ "$(cat "$ASKED")" = tidy ] || fail "on_links was not awaited after SIG$signal"
done

mv "$out/fake/on_links" "$out/package/tools/on_links"
"$out/package/bin/gfbench" arena $net "${short[@]}" --methods=nothing --links='1gbit 0' \
  > "$out/package.txt" || fail "on_links of a package"

mistake() { refused "$1" "$out/true/gfbench" arena $net "${@:2}"; }
cp -L tools/gfbench/on_links "$out/true/"
mistake '--links: link 1 is "1gbit", expected RATE LATENCY, such as 200mbit 1ms' --links=1gbit
mistake '--links: link 1 is "1 gbit 5", expected RATE LATENCY' --links='1 gbit 5'
mistake '--links: link 1 is empty, expected RATE LATENCY' --links='; 1gbit 0;'
mistake '--links: link 2 is empty, expected RATE LATENCY' --links='1gbit 0; ;1gbit 0'
mistake '--links: RATE of link 2 is 5, expected for example 200mbit' --links='1gbit 0; 5 0'
mistake '--links: LATENCY of link 1 is 5, expected 0 or for example 100us' --links='1gbit 5'
mistake '--hosts is 1, must be 2 to 250' --links='1gbit 0' --hosts=1
mistake '--hosts goes with --links' --hosts=3
mistake '--rounds is 0' --links='1gbit 0' --rounds=0
mistake 'unknown flag --linkz' --links='1gbit 0' --linkz=3
mistake "--json=$out/nowhere/x: " --links='1gbit 0' --json="$out/nowhere/x"
refused '--links starts the ranks itself: leave out mpirun' bazel/mpirun.sh -n 2 \
  "$out/true/gfbench" arena $net --links='1gbit 0'
refused '--links starts the ranks itself: leave out mpirun' bazel/mpirun.sh -n 1 \
  "$out/true/gfbench" arena $net --links='1gbit 0'

"$out/true/gfbench" arena $net "${short[@]}" --links='1gbit 0; 100mbit 0' --hosts=2 \
  --methods=$'LAZY FP32;\na b = mode: LAZY' > "$out/true.txt" 2>&1
status=$?
refusal='on_links: error: |Operation not permitted|Permission denied|Read-only'
if [ $status != 0 ] && grep -qE "$refusal" "$out/true.txt"; then
  echo "SKIPPED: no hosts here: $(grep -E "$refusal" "$out/true.txt" | head -n 1)"
  exit 0
fi
[ $status = 0 ] || fail "the true on_links: $(cat "$out/true.txt")"
[ "$(grep -cE '^link 1(00m|g)bit 0, 2 hosts$|2 ranks|^a b +[0-9]' "$out/true.txt")" = 6 ] ||
  fail "not a table per link: $(cat "$out/true.txt")"
echo PASS
