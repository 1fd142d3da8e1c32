// holdfast status --watch: shows the states again whenever they have changed, until an interrupt or until nobody
// reads the output. Instances come and go meanwhile, and config files are edited: what cannot be found out now is
// shown as it was, with the reason.

import { Fault } from '../kernel/fault.ts';
import type { Invocation } from './invocation.ts';
import type { StatusView } from './render/status-page.ts';
import type { Style } from './render/style.ts';
import { pause } from './target.ts';

export interface Watched {
  readonly look: () => Promise<StatusView>;
  readonly text: (view: StatusView) => string;
}

const betweenLooksMs = 1_000;

export async function watch(
  { shell, isJson }: Invocation,
  { look, text: textOf }: Watched,
  first: StatusView,
): Promise<void> {
  const { out, interrupt, clock } = shell;
  const end = AbortSignal.any([interrupt.signal, out.closed]);
  const isScreen = out.isTerminal && !isJson;
  let shown: string | undefined;
  let view = first;
  while (!end.aborted) {
    const text = textOf(view);
    // On a terminal the ages are updated; elsewhere only what is new is printed.
    const mark = isScreen ? text : markOf(view);
    if (mark !== shown && !end.aborted) {
      out.write(isScreen ? repainted(text, out.style, shown === undefined) : `${text}\n`);
    }
    shown = mark;
    await pause(clock, betweenLooksMs, end);
    if (!end.aborted) view = await lookAgain(look, view);
  }
  if (out.isTerminal) out.line();
}

/** Without an instance each look has a host of its own, with another id. */
function markOf({ status, history, instanceState, warnings }: StatusView): string {
  const { servers, disk, instance } = status;
  const id = instanceState === 'running' ? instance : null;
  return JSON.stringify([servers, disk, history.at(-1), instanceState, id, warnings]);
}

const passingCodes: ReadonlySet<string> = new Set(['unavailable', 'draining', 'invalid_request']);

/** An instance that ends while it is asked, and a config that is being edited, may be seen by the next look. */
async function lookAgain(look: () => Promise<StatusView>, before: StatusView): Promise<StatusView> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof Fault && passingCodes.has(error.code))) throw error;
    return { ...before, warnings: [`this is not up to date: ${error.message}`] };
  }
}

/** Overwritten in place, because clearing first would flicker. */
function repainted(text: string, style: Style, isFirst: boolean): string {
  const lines = `${text}\n\n${style('dim', 'Press Ctrl-C to stop')}`.replaceAll('\n', '\u001b[K\n');
  return `${isFirst ? '\u001b[2J' : ''}\u001b[H${lines}\u001b[K\n\u001b[J`;
}
