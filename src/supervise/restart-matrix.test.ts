// Who restarts when, as one table in the manner of OTP's supervisor suite: how much a server is
// needed against what happens to it. Every row goes through the real supervisor.

import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/manual-clock.ts';
import { supervised } from '../../test/support/supervised.ts';

type World = ReturnType<typeof supervised>;
type Need = 'pinned' | 'leased' | 'unneeded';
type Incident = 'exit during start' | 'exit when ready' | 'hung' | 'stop' | 'reload' | 'end';

interface Row {
  readonly need: Need;
  readonly incident: Incident;
  /** What it is doing when the dust has settled; a started one is left to start. */
  readonly phase: 'idle' | 'starting' | 'ended';
  readonly starts: number;
  /** Against its restart budget. */
  readonly counted: number;
  readonly closed: readonly string[];
}

const row = (
  need: Need,
  incident: Incident,
  phase: Row['phase'],
  starts: number,
  counted: number,
  closed: readonly string[],
): Row => ({ need, incident, phase, starts, counted, closed });

const table: readonly Row[] = [
  row('pinned', 'exit during start', 'starting', 2, 1, []),
  row('leased', 'exit during start', 'starting', 2, 1, []),
  row('unneeded', 'exit during start', 'idle', 1, 1, []),
  row('pinned', 'exit when ready', 'starting', 2, 1, ['lost']),
  row('leased', 'exit when ready', 'starting', 2, 1, ['lost']),
  row('unneeded', 'exit when ready', 'idle', 1, 1, ['lost']),
  row('pinned', 'hung', 'starting', 2, 1, ['hung']),
  row('leased', 'hung', 'starting', 2, 1, ['hung']),
  row('unneeded', 'hung', 'idle', 1, 1, ['hung']),
  row('pinned', 'stop', 'idle', 1, 0, ['stop']),
  row('leased', 'stop', 'idle', 1, 0, ['stop']),
  row('unneeded', 'stop', 'idle', 1, 0, ['stop']),
  row('pinned', 'reload', 'starting', 2, 0, ['reload']),
  row('leased', 'reload', 'starting', 2, 0, ['reload']),
  row('unneeded', 'reload', 'idle', 1, 0, ['reload']),
  row('pinned', 'end', 'ended', 1, 0, ['end']),
  row('leased', 'end', 'ended', 1, 0, ['end']),
  row('unneeded', 'end', 'ended', 1, 0, ['end']),
];

/** A server that was started and is needed so much; ready unless it is to fail before. */
async function arrange({ need, incident }: Row): Promise<World> {
  const world = supervised();
  const { supervisor, connector } = world;
  if (need === 'pinned') {
    supervisor.leases.pin(true);
    supervisor.want();
  } else {
    supervisor.leases.hold();
    supervisor.want();
  }
  if (incident !== 'exit during start') connector.last.arrive();
  await settled();
  if (need === 'unneeded') supervisor.leases.release();
  return world;
}

async function happen(incident: Incident, { supervisor, connector }: World): Promise<void> {
  switch (incident) {
    case 'exit during start':
      return connector.last.fail();
    case 'exit when ready':
      return connector.last.lose();
    case 'hung':
      supervisor.suspect(1);
      return connector.last.connection.answerProbe(false);
    case 'stop':
    case 'reload':
    case 'end':
      return supervisor[incident]();
  }
}

describe('what becomes of a server', () => {
  it.each(table)('that is $need after: $incident -> $phase', async (expected) => {
    const world = await arrange(expected);
    const { supervisor, connector, clock } = world;
    const [first] = connector.attempts;
    await happen(expected.incident, world);
    await clock.advanceAsync(5_000);
    expect({
      phase: supervisor.phase.kind,
      starts: connector.attempts.length,
      counted: supervisor.restarts,
      closed: first?.connection.closes,
    }).toEqual({
      phase: expected.phase,
      starts: expected.starts,
      counted: expected.counted,
      closed: expected.closed,
    });
    expect(supervisor.connection).toBeUndefined();
  });
});
