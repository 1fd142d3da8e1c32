// The reaper's program, in POSIX sh: it waits on its stdin for the host to speak or to die, and
// when the host dies it ends every process of the host by the rules of `sweep.ts`. It is a shell
// because it must outlive the host at a thirtieth of the memory of a second Node. It uses only what
// POSIX requires (cat, awk, grep, tr, rmdir, sleep, ps) and starts nothing while it waits.
//
// It is told, one line each:   + PID START   a process of ours
//                              - PID START   no longer
//                              c DIR         a cgroup of ours, to be emptied and removed
//                              d DIR         no longer
//                              h PID START   a process that serves for the host: it alone is ended
//                              i PID START   no longer
//                              q             an orderly end
//
// On a machine without /proc (macOS; tried only with the `ps` of Linux) it cannot see markers, and
// goes by what it was told, by parentage and by process group.

/** Arguments: the token that marks our processes, and where /proc is. */
export const reaperScript = `
trap '' HUP INT TERM QUIT PIPE USR1 USR2 ALRM TSTP TTIN TTOU
token=$1 proc=$2 known=' ' dirs=' ' hosts=' '

without() {
  case $1 in
    *" $2 "*) kept="\${1%%" $2 "*} \${1#*" $2 "}" ;;
    *) kept=$1 ;;
  esac
}

while read -r verb what start; do
  case $verb in
    +) known="$known$what:$start " ;;
    -) without "$known" "$what:$start"; known=$kept ;;
    c) dirs="$dirs$what " ;;
    d) without "$dirs" "$what"; dirs=$kept ;;
    h) hosts="$hosts$what:$start " ;;
    i) without "$hosts" "$what:$start"; hosts=$kept ;;
    q) exit 0 ;;
  esac
done

# If even a fork fails (a fork bomb among our own), the shell exits here: end by builtins alone
# what was told to us, each as a process group and as a process.
last_resort() {
  for one in $known; do
    pid=\${one%%:*}
    is_there "$one" && kill -s KILL -- "-$pid" "$pid"
  done
  for one in $hosts; do is_there "$one" && kill -s KILL "\${one%%:*}"; done
}

is_there() {
  read -r stat <"$proc/\${1%%:*}/stat" || return 1
  start=\${1#*:}
  set -- \${stat##*) }
  shift 19
  [ "$1" = "$start" ]
}
trap last_resort EXIT
exec 2>/dev/null

# Lines of: pid parent group session state start
table() {
  if [ -r "$proc/self/stat" ]; then
    cat "$proc"/[0-9]*/stat | awk '{
      pid = $1; sub(/.*\\) /, "")
      print pid, $2, $3, $4, $1, $20
    }'
  else
    LC_ALL=C ps -A -o pid= -o ppid= -o pgid= -o stat= -o lstart= | awk '{
      print $1, $2, $3, $3, $4, $5 "_" $6 "_" $7 "_" $8 "_" $9
    }'
  fi
}

# The pids that carry our token or sit in a cgroup of ours.
marked() {
  [ -r "$proc/self/environ" ] && grep -lsF -e "$token" "$proc"/[0-9]*/environ | awk -F/ '{ print $(NF - 1) }'
  for dir in $dirs; do cat "$dir/cgroup.procs"; done
}

# One closure over one moment, before anything is killed: a dead parent no longer leads to its children.
ours() {
  table | awk -v known="$known" -v marked="$1" -v self="$$" '
    BEGIN {
      n = split(known, list, " "); for (i = 1; i <= n; i++) told[list[i]] = 1
      n = split(marked, list, " "); for (i = 1; i <= n; i++) told[list[i]] = 1
    }
    $1 > 1 && $1 != self { row[++rows] = $0 }
    END {
      do {
        grown = 0
        for (i = 1; i <= rows; i++) {
          split(row[i], f, " ")
          if (f[1] in mine) continue
          if (!(f[1] in told) && !((f[1] ":" f[6]) in told) && !(f[2] in mine) && !(f[4] in sessions)) continue
          mine[f[1]] = 1; grown = 1
          if (f[4] > 1) sessions[f[4]] = 1
          if (f[5] !~ /^[ZX]/) printf "%s ", f[1]
        }
      } while (grown)
    }'
}

# They may be stopped, or hang: by themselves they would not end.
if [ "$hosts" != ' ' ]; then
  kill -s KILL $(table | awk -v hosts="$hosts" '
    BEGIN { n = split(hosts, list, " "); for (i = 1; i <= n; i++) told[list[i]] = 1 }
    $1 > 1 && (($1 ":" $6) in told) { print $1 }')
fi
for dir in $dirs; do [ -w "$dir/cgroup.kill" ] && echo 1 >"$dir/cgroup.kill"; done
passes=0 empty=0
while [ $empty -lt 2 ] && [ $passes -lt 100 ]; do
  passes=$((passes + 1))
  found=$(ours "$(marked | tr '\\n' ' ')")
  if [ -z "$found" ]; then
    empty=$((empty + 1))
  else
    empty=0
    kill -s KILL $found
    sleep 0.02
  fi
done
trap - EXIT
for dir in $dirs; do rmdir "$dir"; done
exit 0
`;
