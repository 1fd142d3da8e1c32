// The strongest hold on a tree: a pid namespace of its own. When its first process dies the kernel
// ends all others in it, whatever they have done to their session, their environment or their
// parents, and the death of that first process is tied to ours by parent-death signals. This file
// knows the commands that build it; `containment.ts` finds out whether they work here.
//
//   setpriv, unshare, sh    outside: waits
//   unshare, setpriv, sh    inside, pid 1: waits and collects zombies
//   env, sh, the server     reports that it is there, then becomes the server
//
// - The server is not pid 1: the kernel ignores SIGTERM for a pid 1 that has no handler, and nobody
//   would collect the zombies it inherits.
// - `unshare --fork` would do for the outer process, but it keeps copies of the server's stdin and
//   stdout; then the end of a stream would never be seen. Both shells close theirs.
// - The waiting shells ignore the signals of the stop ladder, which go to the whole group; and a
//   shell makes its background jobs ignore SIGINT and SIGQUIT. `env` gives the server the defaults
//   back, before the report: from then on a signal is the server's.
// - A shell adds variables of its own to the environment; they are taken out again (all but `_` and
//   SHLVL, where /bin/sh is bash).
// - It has its own /proc. With that of the machine every look-up of a pid would be wrong: `pgrep -P`
//   answers with strangers, whose numbers a kill-tree then signals. The price is a mount namespace.
//   Where mounts are shared (systemd) the server goes on seeing what the user mounts, and lets go of
//   what he unmounts, but what is mounted inside is not seen outside. As in any pid namespace, processes
//   outside can be neither seen nor signalled.
// - Folders that are none of the server's business (the state directory, with the control socket in it)
//   are hidden: another /proc is mounted over each, because that is what `unshare` can mount by itself;
//   `mount` refuses an ordinary user. A server that runs as root could undo it.
// - An ordinary user gets the right to mount from a user namespace in which he stays himself. It is
//   given up again before the first shell inside. Programs that become root (sudo) do not work there.

import type { ProcessRow } from '../watch/process-table.ts';

/** Absolute paths. */
export interface NamespaceTools {
  readonly unshare: string;
  readonly setpriv: string;
  /** That of GNU: it must know --default-signal. */
  readonly env: string;
}

/** Who makes the namespace: one who may, or one who needs a user namespace for it. */
export type NamespaceMaker = 'root' | 'ordinary user';

/** The server's process says on this descriptor that it exists, before it becomes the server. */
export const reportDescriptor = 3;

/** Runs its arguments with its own stdin and stdout, keeps neither, and exits as they do. */
const waiting = `
trap '' TERM INT HUP QUIT
exec 4<&0 5>&1 </dev/null >/dev/null
"$@" <&4 >&5 4<&- 5>&- &
exec 3>&- 4<&- 5>&- 2>/dev/null
wait $!
exit $?
`;

const becoming = `
echo here >&3
unset PWD OLDPWD SHLVL
exec "$@" 3>&-
`;

/** The whole command line that runs `command` in a pid namespace. */
export function inPidNamespace(
  { unshare, setpriv, env }: NamespaceTools,
  maker: NamespaceMaker,
  command: readonly string[],
  hidden: readonly string[] = [],
): readonly string[] {
  const tied = [setpriv, '--pdeathsig', 'KILL'];
  const [asUser, asBefore] =
    maker === 'root'
      ? [[], []]
      : [
          ['--user', '--map-current-user', '--keep-caps'],
          ['--ambient-caps=-all', '--inh-caps=-all'],
        ];
  return [
    ...[...tied, '--', unshare, ...asUser, '--pid', '--', ...shell(waiting)],
    ...['/proc', ...hidden].flatMap((folder) => [
      ...[unshare, `--mount-proc=${folder}`, '--propagation', 'slave', '--'],
    ]),
    ...[...tied, ...asBefore, '--', ...shell(waiting)],
    ...[env, '--default-signal=TERM,INT,HUP,QUIT', '--', ...shell(becoming), ...command],
  ];
}

function shell(script: string): readonly string[] {
  return ['/bin/sh', '-c', script, 'holdfast'];
}

/** Pid 1 of the namespace and the server, among the descendants of the outer shell. */
export function namespaceMembers(
  outer: number,
  descendants: readonly ProcessRow[],
): { readonly init: ProcessRow; readonly server: ProcessRow } | null {
  const init = descendants.find((row) => row.parent === outer);
  const server = descendants.find((row) => row.parent === init?.pid);
  return init === undefined || server === undefined ? null : { init, server };
}
