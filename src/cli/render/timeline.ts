// The events of a server, one line each, in the wording of `status` and of the log.

import { ownValue } from '../../kernel/own-value.ts';
import { printableLine } from '../../kernel/printable.ts';
import type { HostEvent } from '../../observe/events.ts';
import { noiseText } from '../../observe/noise-text.ts';
import { durationText, momentText } from './quantity.ts';
import type { Style } from './style.ts';
import { type Cell, tableLines } from './table.ts';

type Mood = 'good' | 'bad' | 'wait' | 'plain';

const looks = { good: 'green', bad: 'red', wait: 'yellow', plain: 'dim' } as const;

interface Told {
  readonly mood: Mood;
  readonly word: string;
  readonly rest: string;
}

export function timelineLines(
  events: readonly HostEvent[],
  now: number,
  style: Style,
  columns: number,
): string[] {
  const rows = events.map((event): Cell[] => {
    const { mood, word, rest } = told(event);
    return [
      { text: momentText(event.at, now), look: (text) => style('dim', text) },
      { text: word, look: (text) => style(looks[mood], text) },
      { text: printableLine(rest) },
    ];
  });
  return tableLines(rows, columns);
}

/** The same as part of a sentence. */
export function eventText(event: HostEvent): string {
  const { word, rest } = told(event);
  return rest === '' ? word : `${word}: ${rest}`;
}

/**
 * The events that a person wants to read: what happened to the server. A begin event is omitted
 * once its end is there, and a count once a later one includes it.
 */
export function storyOf(events: readonly HostEvent[]): readonly HostEvent[] {
  const notable = events.filter((event) => !isAside(event));
  return notable.filter((event, index) => {
    if (event.kind === 'noise')
      return !notable.slice(index + 1).some((later) => grew(event, later));
    return !isBeginning(event.kind) || index === notable.length - 1;
  });
}

function grew(count: Of<'noise'>, later: HostEvent): boolean {
  return later.kind === 'noise' && later.noise === count.noise && later.count > count.count;
}

function isAside(event: HostEvent): boolean {
  if (event.kind === 'tools') return event.invalid === 0;
  return event.kind === 'registered' || event.kind === 'removed' || event.kind === 'idle';
}

function isBeginning(kind: HostEvent['kind']): boolean {
  return kind === 'starting' || kind === 'stopping';
}

function told(event: HostEvent): Told {
  switch (event.kind) {
    case 'registered':
      return plain('registered', event.lazy ? 'starts when it is needed' : 'starts with the host');
    case 'starting':
      return plain('starting', event.generation > 1 ? `generation ${event.generation}` : '');
    case 'ready':
      return { mood: 'good', word: 'ready', rest: readyText(event) };
    case 'start-failed':
      return { mood: 'bad', word: 'failed', rest: `${ownPart(event)} [${event.code}]` };
    case 'lost':
      return { mood: 'bad', word: 'lost', rest: ownPart(event) };
    case 'cooling':
      return { mood: 'wait', word: 'waiting', rest: coolingText(event) };
    case 'ejected':
      return { mood: 'bad', word: 'ejected', rest: event.detail };
    case 'stopping':
      return plain('stopping', event.reason);
    case 'stopped':
      return plain('stopped', event.swept > 0 ? `${event.swept} remaining processes ended` : '');
    case 'idle':
      return plain('idle', '');
    case 'reloaded':
      return plain('reloaded', 'failures and restarts are cleared');
    case 'removed':
      return plain('removed', '');
    case 'circuit':
      return circuitTold(event.circuit);
    case 'tools':
      return plain('tools', toolsText(event));
    case 'noise':
      return { mood: 'wait', word: 'noise', rest: noiseText(event.noise, event.count) };
    case 'defect':
      return { mood: 'bad', word: 'internal', rest: `${event.handled}: ${event.detail}` };
    case 'call':
      return callTold(event);
  }
}

/**
 * The part of the detail that is not already in its row: without the server's name and "did not
 * start".
 */
function ownPart({ server, detail }: Of<'start-failed' | 'lost'>): string {
  const said = [`${server} did not start: `, `${server} `].find((part) => detail.startsWith(part));
  return detail.slice(said?.length ?? 0);
}

function plain(word: string, rest: string): Told {
  return { mood: 'plain', word, rest };
}

type Of<K extends HostEvent['kind']> = Extract<HostEvent, { readonly kind: K }>;

function readyText({ startMs, pid, era, protocolVersion, isAdopted }: Of<'ready'>): string {
  const process = pid === null ? '' : ` · pid ${pid}`;
  const how = isAdopted ? 'taken over from the process before' : `in ${durationText(startMs)}`;
  return `${how}${process} · ${era} ${protocolVersion}`;
}

function coolingText({ delayMs, restartsLeft }: Of<'cooling'>): string {
  const left = restartsLeft === null ? '' : ` · ${restartsLeft} restarts left`;
  return `next attempt after ${durationText(delayMs)}${left}`;
}

function circuitTold(circuit: Of<'circuit'>['circuit']): Told {
  if (circuit === 'closed') return { mood: 'good', word: 'circuit', rest: 'closed' };
  if (circuit === 'half_open') return { mood: 'wait', word: 'circuit', rest: 'half open' };
  return { mood: 'bad', word: 'circuit', rest: 'open' };
}

function toolsText({ tools, invalid }: Of<'tools'>): string {
  return invalid === 0 ? `${tools} listed` : `${tools} listed, ${invalid} ignored as invalid`;
}

function callTold({ tool, outcome, latencyMs, attempts, replays }: Of<'call'>): Told {
  const isGood = outcome === 'ok' || outcome === 'cached';
  const words = { ok: 'ok', cached: 'ok, from the cache', is_error: 'returned isError' };
  const result = ownValue(words, outcome) ?? outcome;
  const again = replays > 0 ? ` · repeated once, ${attempts} attempts` : '';
  return {
    mood: isGood ? 'good' : 'bad',
    word: 'call',
    rest: `${tool} ${result} in ${durationText(latencyMs)}${again}`,
  };
}
