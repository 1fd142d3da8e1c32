// The event log: every line before a torn tail is whole JSON, in the order in which it happened, with no
// gap and nothing that did not happen; a torn tail is cut off and reported by the next start; and
// rotation keeps the previous file. Its lines are nobody's receipt, so a power cut may take the newest;
// what somebody has read in it survives a kill.

import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import type { Dice } from '../../support/dice.ts';
import { type CrashHome, logBytes } from '../home.ts';
import type { Operation } from '../injected-faults/plan.ts';
import { PaperServer } from '../paper-server.ts';
import { concerns, type Encounter, type Fate, type Subject, type Violation } from './subject.ts';

const name = 'events.jsonl';

export class EventLogSubject implements Subject {
  readonly name = 'event log';
  readonly under = [name];
  readonly isAtStart = true;
  readonly moments = [
    { op: 'open', upTo: 2 },
    { op: 'write', upTo: 5 },
    { op: 'truncate', upTo: 1 },
    { op: 'rename', upTo: 1 },
    { op: 'remove', upTo: 1 },
    { op: 'close', upTo: 2 },
  ] as const;
  readonly #home: CrashHome;
  readonly #server: PaperServer;
  #before: Log = emptyLog;
  /** New whole lines that were read in the log while the gateway lived. */
  #seen = 0;
  #asked = 0;
  #fillers = 0;

  constructor(home: CrashHome) {
    this.#home = home;
    this.#server = new PaperServer(home.file('chatter'));
    this.#server.offer(['{"name":"hello","inputSchema":{"type":"object"}}']);
  }

  servers() {
    return { chatter: this.#server.entry(0) };
  }

  /** Tears its last line, where that is to be mended, or brings it near its limit, to be rotated. */
  prepare(dice: Dice, op: Operation | null): void {
    const { current, isTorn } = this.#read();
    if (isTorn) return;
    mkdirSync(this.#home.state, { recursive: true, mode: 0o700 });
    if (op === 'truncate') {
      const tail = fillerLine(0).slice(0, dice.between(1, 499));
      return appendFileSync(this.#home.inState(name), tail, { mode: 0o600 });
    }
    if (op !== 'rename' && op !== 'remove') return;
    const lines: string[] = [];
    for (let left = logBytes - 1_500 - current.bytes; left > 0; left -= 500) {
      this.#fillers += 1;
      lines.push(fillerLine(this.#fillers));
    }
    appendFileSync(this.#home.inState(name), lines.join(''), { mode: 0o600 });
  }

  forget(part: string): void {
    if (concerns(this.under, part)) this.#before = emptyLog;
  }

  begin(): void {
    this.#before = this.#read();
    this.#seen = 0;
    this.#asked = 0;
  }

  async check(): Promise<readonly Violation[]> {
    return [];
  }

  /** One call after the other, so that the order of their lines is known. */
  async act({ client }: Encounter, dice: Dice): Promise<readonly Violation[]> {
    for (let left = dice.between(3, 10); left > 0; left -= 1) {
      this.#asked += 1;
      await client.call('chatter__hello');
    }
    const { added } = compare(this.#before, this.#read());
    this.#seen = Math.max(this.#seen, added?.length ?? 0);
    return [];
  }

  examine({ isPowerCut, stderr }: Fate): readonly Violation[] {
    const after = this.#read();
    const { added, lost } = compare(this.#before, after);
    const found: Violation[] = lost.map((text) => ({ wrong: 'lost', text }));
    if (added === undefined) return found;
    if (!isPowerCut && added.length < this.#seen) {
      const text = `of ${this.#seen} lines seen in the log ${added.length} are left`;
      found.push({ wrong: 'lost', text });
    }
    const wasMended = this.#before.isTorn && (added.length > 0 || !after.isTorn);
    if (wasMended && !stderr.includes(this.#home.inState(name))) {
      const text = `a torn tail of ${this.#before.tail.length} bytes was mended without a word`;
      found.push({ wrong: 'unreported', text });
    }
    return [...found, ...this.#judge(added)];
  }

  /** The lines of one life: whole, known, and its own calls without a gap. */
  #judge(lines: readonly string[]): readonly Violation[] {
    const found: Violation[] = [];
    let calls = 0;
    for (const line of lines) {
      const event = parsed(line);
      if (event === undefined) {
        found.push({
          wrong: 'phantom',
          text: `a line of the log is no event: ${JSON.stringify(line.slice(0, 80))}`,
        });
      } else if (event.kind === 'call' && event.server === 'chatter') calls += 1;
    }
    if (calls > this.#asked) {
      const text = `the log tells of ${calls} calls, but only ${this.#asked} were made`;
      found.push({ wrong: 'phantom', text });
    }
    const numbers = lines.flatMap((line) => parsed(line)?.request ?? []);
    const gap = numbers.findIndex((number, at) => at > 0 && number !== (numbers[at - 1] ?? 0) + 1);
    if (gap > 0) {
      const text = `call ${numbers[gap]} follows ${numbers[gap - 1]} in the log`;
      found.push({ wrong: 'lost', text });
    }
    return found;
  }

  #read(): Log {
    const previous = readText(this.#home.inState(`${name}.1`));
    const current = readText(this.#home.inState(name));
    return {
      previous: partsOf(previous),
      current: partsOf(current),
      isTorn: current !== '' && !current.endsWith('\n'),
      tail: current.slice(current.lastIndexOf('\n') + 1),
    };
  }
}

interface Part {
  readonly lines: readonly string[];
  readonly bytes: number;
}

interface Log {
  readonly previous: Part;
  readonly current: Part;
  readonly isTorn: boolean;
  readonly tail: string;
}

const emptyLog: Log = {
  previous: { lines: [], bytes: 0 },
  current: { lines: [], bytes: 0 },
  isTorn: false,
  tail: '',
};

/** What a life has added to the log; undefined if what was there before cannot be found in it. */
function compare(before: Log, after: Log): { added?: readonly string[]; lost: readonly string[] } {
  const [was, is] = [before.current.lines, after.current.lines];
  if (startsWith(is, was)) return { added: is.slice(was.length), lost: [] };
  // Rotated: what was current is the beginning of what is previous.
  const previous = after.previous.lines;
  if (startsWith(previous, was)) return { added: [...previous.slice(was.length), ...is], lost: [] };
  const text = `${was.length} lines of the log were there before and cannot be found after`;
  return { lost: [text] };
}

function startsWith(lines: readonly string[], start: readonly string[]): boolean {
  return start.length <= lines.length && start.every((line, at) => line === lines[at]);
}

function partsOf(text: string): Part {
  const end = text.lastIndexOf('\n') + 1;
  return { lines: text.slice(0, end).split('\n').slice(0, -1), bytes: Buffer.byteLength(text) };
}

interface LoggedEvent {
  readonly kind: string;
  readonly server: string;
  readonly request?: number;
}

function parsed(line: string): LoggedEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const isEvent = typeof value === 'object' && value !== null && 'kind' in value && 'at' in value;
    return isEvent ? (value as unknown as LoggedEvent) : undefined;
  } catch {
    return undefined;
  }
}

/** A line of 500 bytes. */
function fillerLine(number: number): string {
  const event = { at: 1, kind: 'idle', server: `filler-${number}`, pad: '' };
  const bare = JSON.stringify(event).length + 1;
  return `${JSON.stringify({ ...event, pad: 'x'.repeat(500 - bare) })}\n`;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
