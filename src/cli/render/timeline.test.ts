import { describe, expect, it } from 'vitest';
import type { HostEvent } from '../../observe/events.ts';
import { styleFor } from './style.ts';
import { storyOf, timelineLines } from './timeline.ts';

const at = 1_794_776_090_000;
const server = 'git';

const life: readonly HostEvent[] = [
  { at, server, kind: 'registered', lazy: true },
  { at, server, kind: 'starting', generation: 1 },
  { at, server, kind: 'tools', tools: 3, invalid: 0 },
  {
    at,
    server,
    kind: 'ready',
    generation: 1,
    era: 'legacy',
    protocolVersion: '2025-11-25',
    pid: 7,
    startMs: 80,
  },
  { at, server, kind: 'lost', generation: 1, detail: 'git was killed\u001b[2J by SIGKILL' },
  { at, server, kind: 'cooling', delayMs: 100, restartsLeft: 4 },
  { at, server, kind: 'start-failed', generation: 2, code: 'unavailable', detail: 'gone' },
  {
    at,
    server,
    kind: 'call',
    request: 1,
    tool: 'log',
    latencyMs: 12,
    attempts: 2,
    replays: 1,
    outcome: 'ok',
    generation: 2,
  },
  { at, server, kind: 'stopping', generation: 2, reason: 'end' },
];

describe('the timeline of a server', () => {
  it('tells starts, losses, waits and calls with their causes', () => {
    const lines = timelineLines(storyOf(life), at, styleFor(false, {}), 200);
    expect(lines.map((line) => line.slice(10))).toEqual([
      'ready     in 80 ms · pid 7 · legacy 2025-11-25',
      'lost      was killed\\x1b[2J by SIGKILL',
      'waiting   next attempt after 100 ms · 4 restarts left',
      'failed    gone [unavailable]',
      'call      log ok in 12 ms · repeated once, 2 attempts',
      'stopping  end',
    ]);
  });

  it('omits a begin event once something followed it', () => {
    const kinds = storyOf(life.slice(0, 2)).map(({ kind }) => kind);
    expect(kinds).toEqual(['starting']);
    expect(storyOf(life).some(({ kind }) => kind === 'starting')).toBe(false);
  });

  it('shows once how much a server printed that is not MCP #status', () => {
    const noise = (count: number): HostEvent => ({
      at,
      server,
      kind: 'noise',
      noise: 'not-json',
      count,
    });
    const story = storyOf([noise(1), noise(10), noise(100), ...life.slice(4, 5)]);
    const [told] = timelineLines(story, at, styleFor(false, {}), 200);
    expect(story).toHaveLength(2);
    expect(told?.slice(10)).toBe('noise  printed 100 lines to stdout that are not MCP');
  });
});
