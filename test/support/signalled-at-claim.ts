// A program that has its holder signalled in one moment of a rollout: right before a successor asks to be the serving
// process, or right after it has become that.

import { readFile, rename, writeFile } from 'node:fs/promises';

/** Long enough that the signal has arrived: the successor waits with its question. */
const beforeMs = 500;

/** Changes the installed program; the first successor that is started from it does so. */
export async function signalledAtClaim(
  main: string,
  signal: NodeJS.Signals,
  when: 'before' | 'after',
): Promise<void> {
  const hook = `
if (process.env.HOLDFAST_HOLDER?.endsWith(':successor')) {
  const { emit, send, ppid } = process;
  let claim;
  const signalled = () => {
    try {
      process.getBuiltinModule('node:fs').rmSync(${JSON.stringify(`${main}.once`)});
      process.kill(ppid, ${JSON.stringify(signal)});
    } catch {}
  };
  process.send = function (message, ...rest) {
    if (message?.op !== 'claim') return send.call(this, message, ...rest);
    claim = message.ask;
    if (${when === 'after'}) return send.call(this, message, ...rest);
    signalled();
    setTimeout(() => send.call(this, message, ...rest), ${beforeMs});
    return true;
  };
  process.emit = function (name, message, ...rest) {
    if (${when === 'after'} && name === 'message' && claim !== undefined && message?.ask === claim) {
      claim = undefined;
      signalled();
    }
    return emit.call(this, name, message, ...rest);
  };
}
`;
  await writeFile(`${main}.once`, '');
  const text = await readFile(main, 'utf8');
  // The banner of the bundle is first.
  const at = text.indexOf('\n', text.startsWith('#!') ? text.indexOf('\n') + 1 : 0) + 1;
  await writeFile(`${main}.new`, text.slice(0, at) + hook + text.slice(at));
  await rename(`${main}.new`, main);
}
