// The strongest hold on a tree: a pid namespace of its own. When its first process dies the kernel
// ends all others in it, whatever they have done to their session, their environment or their
// parents, and the death of that first process is tied to ours by a parent-death signal. This file
// knows the commands that build it; `containment.ts` finds out whether they work here.
//
//   setpriv, unshare -> sh (outside: waits)  ->  setpriv, sh (inside: pid 1, waits)  ->  the server
//
// - The server is not pid 1: the kernel ignores SIGTERM for a pid 1 that has no handler, and nobody
//   would collect the zombies it inherits. The shell in that place collects them while it waits.
// - `unshare --fork` would do for the outer process, but it keeps copies of the server's stdin and
//   stdout; then the end of a stream would never be seen. Both shells close theirs.
// - The shells ignore the signals of the stop ladder, which go to the whole group; and a shell
//   makes its background jobs ignore SIGINT and SIGQUIT. `env` gives the server the defaults back.
// - /proc stays that of the machine. Mounting another takes a mount namespace, in which a mount that
//   the server makes is hidden from the user and a volume that the user unmounts stays busy; and in
//   many containers it is forbidden. The price: the server's own pid (getpid) is not its number in
//   /proc; /proc/self is right. And as in any pid namespace it cannot signal processes outside.
// - A shell adds variables of its own to the environment; they are taken out again (all but `_`,
//   where /bin/sh is bash).
// - The server's pid outside is what it reads in /proc/self/stat, before it becomes the server; it
//   is reported on descriptor 3.

/** Absolute paths. */
export interface NamespaceTools {
  readonly unshare: string;
  readonly setpriv: string;
  /** That of GNU: it must know --default-signal. */
  readonly env: string;
}

/** For a user who may not make a pid namespace alone: a user namespace, in which he stays himself. */
export const asOrdinaryUser: readonly string[] = ['--user', '--map-current-user'];

/** The descriptor on which the pid is reported. */
export const reportDescriptor = 3;

const outside = `
trap '' TERM INT HUP QUIT
exec 4<&0 5>&1 </dev/null >/dev/null
setpriv=$1 env=$2 inside=$3
shift 3
"$setpriv" --pdeathsig KILL /bin/sh -c "$inside" holdfast "$env" "$@" <&4 >&5 4<&- 5>&- &
exec 3>&- 4<&- 5>&- 2>/dev/null
wait $!
exit $?
`;

const inside = `
env=$1
shift
exec 4<&0 5>&1 </dev/null >/dev/null
{
  read -r pid rest </proc/self/stat
  echo "$pid" >&3
  unset PWD OLDPWD SHLVL
  exec "$env" --default-signal=TERM,INT,HUP,QUIT -- "$@" 3>&-
} <&4 >&5 4<&- 5>&- &
exec 3>&- 4<&- 5>&- 2>/dev/null
wait $!
exit $?
`;

/** The whole command line that runs `command` in a pid namespace. */
export function inPidNamespace(
  tools: NamespaceTools,
  userArgs: readonly string[],
  command: readonly string[],
): readonly string[] {
  const { unshare, setpriv, env } = tools;
  // To `env` a first word with an equals sign is a variable; `setpriv` just executes it.
  const guarded = command[0]?.includes('=') === true ? [setpriv, '--', ...command] : command;
  return [
    ...[setpriv, '--pdeathsig', 'KILL', '--', unshare, ...userArgs, '--pid', '--'],
    ...['/bin/sh', '-c', outside, 'holdfast', setpriv, env, inside, ...guarded],
  ];
}
