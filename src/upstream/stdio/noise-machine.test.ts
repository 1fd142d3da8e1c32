import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { beforeGreeting, type NoiseEvent, type NoisePolicy, noiseStep } from './noise-machine.ts';

const policy: NoisePolicy = { startBytes: 1_000, lines: 10, bytes: 500, quietMs: 30_000 };

function noise(at: number, lines: number, more: Partial<NoiseEvent> = {}): NoiseEvent {
  return { kind: 'noise', at, lines, bytes: lines, isAwaited: false, ...more } as NoiseEvent;
}

/** The effects of the events, one after the other. */
function effects(...events: readonly NoiseEvent[]): string[] {
  let state = beforeGreeting;
  return events.map((event) => {
    const [next, effect] = noiseStep(state, event, policy);
    state = next;
    return effect;
  });
}

const greeted: NoiseEvent = { kind: 'greeted' };
const heard: NoiseEvent = { kind: 'heard' };
const dead: NoiseEvent = { kind: 'probed', isAlive: false };
const alive: NoiseEvent = { kind: 'probed', isAlive: true };

describe('lines that are not MCP, before the handshake', () => {
  it('may be any number #noise', () => {
    expect(effects(noise(0, 900, { bytes: 1_000 }), greeted)).toEqual(['none', 'none']);
  });

  it('end the start when they are too many bytes, whatever else came #noise', () => {
    const half = noise(0, 1, { bytes: 501 });
    expect(effects(half, heard, half)).toEqual(['none', 'none', 'end']);
  });
});

describe('lines that are not MCP, after the handshake', () => {
  it('are never too many while something valid comes in between #noise', () => {
    const events = Array.from({ length: 100 }, (_, n) => [noise(n * 29_000, 1_000), heard]).flat();
    expect(new Set(effects(greeted, ...events))).toEqual(new Set(['none']));
  });

  it('lead to a probe when they are many and nothing valid came for a while #noise', () => {
    expect(effects(greeted, noise(0, 10), noise(29_999, 1), noise(30_000, 1))).toEqual([
      ...['none', 'none', 'none', 'probe'],
    ]);
  });

  it('lead to a probe by their bytes too: one endless line is not many lines', () => {
    const endless = (at: number) => noise(at, 0, { bytes: 250 });
    expect(effects(greeted, endless(0), endless(30_000))).toEqual(['none', 'none', 'probe']);
  });

  it('are ignored when they are few, however long nothing else comes', () => {
    const events = Array.from({ length: 9 }, (_, n) => noise(n * 60_000, 1));
    expect(new Set(effects(greeted, ...events))).toEqual(new Set(['none']));
  });

  it('end the server only when the probe fails #noise', () => {
    const flood = [greeted, noise(0, 10), noise(30_000, 1)];
    expect(effects(...flood, alive, noise(30_001, 10)).slice(-2)).toEqual(['none', 'none']);
    expect(effects(...flood, noise(31_000, 50), dead).at(-1)).toBe('end');
  });

  it('end nothing when something valid came while the probe was open', () => {
    const flood = [greeted, noise(0, 10), noise(30_000, 1)];
    expect(effects(...flood, heard, noise(31_000, 50), dead).at(-1)).toBe('none');
  });

  it('wait for the deadline of a call that is under way', () => {
    const busy = (at: number) => noise(at, 100, { isAwaited: true } as Partial<NoiseEvent>);
    expect(effects(greeted, busy(0), busy(50_000), noise(79_000, 1), noise(80_000, 1))).toEqual([
      ...['none', 'none', 'none', 'none', 'probe'],
    ]);
  });

  it('never end a server between two valid messages that are less than a while apart', () => {
    const gap = fc.array(fc.tuple(fc.nat(400), fc.nat(2_000)), { maxLength: 20 });
    const property = fc.property(fc.array(gap, { maxLength: 20 }), (gaps) => {
      let at = 0;
      const events: NoiseEvent[] = [greeted];
      for (const flood of gaps) {
        for (const [ms, lines] of flood) {
          at += ms;
          events.push(noise(at, lines));
        }
        // A probe that nobody sent decides nothing.
        events.push(dead, heard);
      }
      expect(new Set(effects(...events))).toEqual(new Set(['none']));
    });
    fc.assert(property);
  });
});
