import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import type { HostStatus } from '../host/status.ts';
import { Fault } from '../kernel/fault.ts';
import type { Invocation } from './invocation.ts';
import type { StatusView } from './render/status-page.ts';
import { watch } from './status-watch.ts';

/** Each look has another id, as a host of its own has. */
function viewOf(instanceState: StatusView['instanceState'], id: number): StatusView {
  const status = { servers: [], disk: { ok: true }, instance: `id ${id}` } as unknown as HostStatus;
  const shown = { status, history: [], current: [], now: 0, warnings: [] };
  return { ...shown, instanceState, steps: (text) => text };
}

/** What is printed to a pipe while these are the looks, a second apart. */
async function printed(looks: readonly (StatusView | Fault)[]): Promise<readonly string[]> {
  const clock = new ManualClock();
  const interrupt = new AbortController();
  const lines: string[] = [];
  const closed = new AbortController().signal;
  const out = { isTerminal: false, closed, write: (text: string) => lines.push(text) };
  const invocation = { shell: { out, interrupt, clock }, isJson: false } as unknown as Invocation;
  const [first, ...rest] = looks;
  const look = async () => {
    const next = rest.shift();
    if (next === undefined || next instanceof Fault) throw next ?? new Error('there are no more');
    return next;
  };
  const text = ({ instanceState, warnings }: StatusView) => [instanceState, ...warnings].join(' ');
  const watching = watch(invocation, { look, text }, first as StatusView);
  await clock.advanceAsync(rest.length * 1_000);
  interrupt.abort();
  await watching;
  return lines;
}

describe('status --watch', () => {
  it('prints what is unchanged once, though every look without an instance is another host #command-line', async () => {
    const looks = [0, 1, 2, 3].map((id) => viewOf('none', id));
    expect(await printed(looks)).toEqual(['none\n']);
  });

  it('prints another instance, and one that is ending or starting #command-line', async () => {
    const states = [
      'running',
      'running',
      'ending',
      'ending',
      'none',
      'starting',
      'running',
    ] as const;
    const looks = states.map((state, number) => viewOf(state, number < 2 ? 0 : number));
    const lines = ['running\n', 'ending\n', 'none\n', 'starting\n', 'running\n'];
    expect(await printed(looks)).toEqual(lines);
    expect(await printed([viewOf('running', 1), viewOf('running', 2)])).toHaveLength(2);
  });

  it.each(['unavailable', 'draining', 'invalid_request'] as const)(
    'goes on after %s, and says that it is not up to date #command-line',
    async (code) => {
      const fault = new Fault(code, 'not now');
      const looks = [viewOf('running', 1), fault, fault, viewOf('running', 1)];
      const stale = 'running this is not up to date: not now\n';
      expect(await printed(looks)).toEqual(['running\n', stale, 'running\n']);
    },
  );
});
