// The load on a broker that is killed or whose disk fails: a worker that sends many letters at once, an orchestrator
// that reads them and acknowledges every second one, and marks by which it is known which acknowledgements are on the
// disk. Each step is noted, so that what comes from the next broker can be judged (`letter-book.ts`).

import { BrokerError, isEndOfLink } from '../../../src/broker/broker-error.ts';
import type { Link } from '../../../src/broker/contract.ts';
import type { Dice } from '../../support/dice.ts';
import { until } from '../../support/until.ts';
import { bodyOf, type Came, type Note } from './letter-book.ts';

export type LinkOf = (member: 'ann' | 'boss') => Promise<Link>;

export interface CorrespondenceOptions {
  /** Begins every id, so that no two are the same. */
  readonly name: string;
  readonly linkOf: LinkOf;
  readonly dice: Dice;
  readonly note: (note: Note) => void;
  /** How many are sent, and how many of them at once. */
  readonly letters: number;
  readonly atOnce: number;
}

/** Longer than any write, and short enough that they do not fill the mailbox. */
const markMs = 20_000;
const largestBytes = 9_000;

/** True when all are sent, and false when the broker has ended before. */
export async function correspond(options: CorrespondenceOptions): Promise<boolean> {
  const { name, linkOf, dice, note, letters, atOnce } = options;
  const links: Link[] = [];
  try {
    const ann = await linkOf('ann');
    links.push(ann);
    const boss = await linkOf('boss');
    links.push(boss);
    const acknowledged = new Set<string>();
    await boss.receive('note', (mail) => {
      if (!dice.chance(0.5)) return;
      acknowledged.add(mail.id);
      note({ did: 'acknowledged', id: mail.id });
      mail.ack();
    });
    let sent = 0;
    const send = async () => {
      while (sent < letters) {
        sent += 1;
        const bytes = dice.chance(0.1) ? largestBytes : dice.between(20, 300);
        await deliver(ann, `${name}-${sent}-${bytes}`, note);
      }
    };
    let isOver = false;
    const settling = (async () => {
      for (let mark = 1; !isOver; mark += 1) {
        await settle({ ann, boss, mark: `${name}-mark-${mark}`, known: [...acknowledged], note });
      }
    })();
    const sending = Promise.all(Array.from({ length: atOnce }, send)).finally(() => {
      isOver = true;
    });
    await Promise.all([sending, settling]);
    return true;
  } catch (error) {
    if (!(error instanceof BrokerError && isEndOfLink(error))) throw error;
    return false;
  } finally {
    await Promise.all(links.map((link) => link.close()));
  }
}

/** Everything that is left, read and acknowledged; the disk knows of it. */
export async function readMailbox(
  name: string,
  linkOf: LinkOf,
  note: (note: Note) => void,
): Promise<readonly Came[]> {
  const boss = await linkOf('boss');
  const ann = await linkOf('ann');
  const came: Came[] = [];
  // Letters of a kind come in their order: when this one has come, all have.
  const last = `${name}-last-20`;
  await boss.receive('note', (mail) => {
    came.push({ id: mail.id, body: mail.body.toString() });
    note({ did: 'acknowledged', id: mail.id });
    mail.ack();
  });
  await deliver(ann, last, note);
  await until(() => came.some(({ id }) => id === last), 'the last letter has come');
  const known = came.map(({ id }) => id);
  await settle({ ann, boss, mark: `${name}-mark`, known, note });
  await Promise.all([ann.close(), boss.close()]);
  return came.filter(({ id }) => id !== last);
}

async function deliver(ann: Link, id: string, note: (note: Note) => void): Promise<void> {
  note({ did: 'sent', id });
  try {
    await ann.deliver({ id, to: 'boss', kind: 'note', body: Buffer.from(bodyOf(id)) });
    note({ did: 'confirmed', id });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    note({ did: 'refused', id });
  }
}

interface Settling {
  readonly ann: Link;
  readonly boss: Link;
  readonly mark: string;
  /** Acknowledged by now. */
  readonly known: readonly string[];
  readonly note: (note: Note) => void;
}

/** A letter that was written later is confirmed: then the disk knows of these acknowledgements. */
async function settle({ ann, boss, mark, known, note }: Settling): Promise<void> {
  // They are sent at the end of a turn, so before the second question.
  await boss.present();
  await boss.present();
  try {
    // Nobody reads it: one that is done with before it was written is confirmed without being written.
    const letter = { id: mark, to: 'boss', kind: 'mark', body: Buffer.alloc(0), ttlMs: markMs };
    await ann.deliver(letter);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return;
  }
  for (const id of known) note({ did: 'done', id });
}

/** The disk has failed, and says so. */
function isRefusal(error: unknown): boolean {
  return error instanceof BrokerError && (error.reason === 'not_kept' || error.reason === 'full');
}
