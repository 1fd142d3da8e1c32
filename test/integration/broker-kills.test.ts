// kill -9 of the command `holdfast broker` at moments that dice have chosen, under load: no letter that was
// confirmed is lost, and none comes back that was acknowledged before a letter that was written later.

import { describe, expect, it } from 'vitest';
import type { Link, Mail } from '../../src/broker/contract.ts';
import { BrokerProcess } from '../support/broker-process.ts';
import { Dice } from '../support/dice.ts';
import { until } from '../support/until.ts';

const kills = 12;
const inFlight = 64;
/** Longer than any write, and short enough that they do not fill the mailbox. */
const markMs = 20_000;

/** What the letters of all lives have come to. */
class Ledger {
  readonly confirmed = new Set<string>();
  readonly seen = new Set<string>();
  /** Acknowledged by the reader of this life. */
  readonly acknowledged = new Set<string>();
  /** Of these the disk knows: a later letter was written. */
  readonly done = new Set<string>();
  readonly cameBack: string[] = [];
  #sent = 0;

  /** Rejects when the link ends. */
  async deliver(ann: Link): Promise<void> {
    this.#sent += 1;
    const id = `letter-${this.#sent}`;
    await ann.deliver({ id, to: 'boss', kind: 'note', body: Buffer.from(id) });
    this.confirmed.add(id);
  }

  read(mail: Mail, doesAcknowledge: boolean): void {
    if (this.done.has(mail.id)) this.cameBack.push(mail.id);
    this.seen.add(mail.id);
    if (!doesAcknowledge) return;
    mail.ack();
    this.acknowledged.add(mail.id);
  }

  /** The acknowledgements so far are on the disk when this resolves. */
  async settle(ann: Link, boss: Link): Promise<void> {
    const known = [...this.acknowledged];
    // They are sent at the end of a turn, so before the second question.
    await boss.present();
    await boss.present();
    // Nobody reads it: one that is done with before it was written is confirmed without being written.
    const mark = { id: `mark-${this.#sent}`, to: 'boss', kind: 'mark', body: Buffer.alloc(0) };
    this.#sent += 1;
    await ann.deliver({ ...mark, ttlMs: markMs });
    for (const id of known) this.done.add(id);
  }
}

/** One life under load, killed when so many letters of it are confirmed. */
async function killedLife(broker: BrokerProcess, ledger: Ledger, dice: Dice): Promise<void> {
  const killAt = ledger.confirmed.size + dice.between(0, 400);
  const ann = await broker.link('ann');
  const boss = await broker.link('boss');
  await boss.receive('note', (mail) => ledger.read(mail, dice.chance(0.5)));
  const sending = Array.from({ length: inFlight }, async () => {
    for (;;) await ledger.deliver(ann);
  });
  const settling = (async () => {
    for (;;) await ledger.settle(ann, boss);
  })();
  const ended = Promise.allSettled([...sending, settling]);
  await until(() => ledger.confirmed.size >= killAt, 'so many are confirmed');
  await broker.kill('SIGKILL');
  await ended;
}

/** Everything that is left is read. */
async function readLife(broker: BrokerProcess, ledger: Ledger): Promise<void> {
  ledger.acknowledged.clear();
  await broker.launch();
  const boss = await broker.link('boss');
  await boss.receive('note', (mail) => ledger.read(mail, true));
  const ann = await broker.link('ann');
  await ledger.settle(ann, boss);
  const left = () => [...ledger.confirmed].filter((id) => !ledger.seen.has(id));
  await until(() => left().length === 0, 'every confirmed letter has come');
  await ledger.settle(ann, boss);
  await Promise.all([ann.close(), boss.close()]);
}

describe('a broker that is killed under load', () => {
  it(`${kills} times loses nothing that it has confirmed, and brings back nothing that it knew to be done #broker-durable`, async () => {
    await using broker = await BrokerProcess.start();
    const ledger = new Ledger();
    const dice = new Dice('broker-kills/1');
    for (let kill = 0; kill < kills; kill += 1) {
      await killedLife(broker, ledger, dice);
      await readLife(broker, ledger);
      expect(ledger.cameBack).toEqual([]);
    }
    expect(ledger.confirmed.size).toBeGreaterThan(kills * 10);
    expect(ledger.done.size).toBeGreaterThan(kills * 10);
  });
});
