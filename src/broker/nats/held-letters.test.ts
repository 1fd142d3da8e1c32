// What a link to NATS holds: a letter that the server hands out again is no second one, and only its last delivery can be
// acknowledged.

import { describe, expect, it } from 'vitest';
import { HeldLetters } from './held-letters.ts';

const ack = (sequence: number, delivered: number) =>
  `$JS.ACK.hf-mail.consumer.${delivered}.${sequence}.${delivered}.1700000000000000000.0`;

describe('letters that are held', () => {
  it('take one place each, however often they are handed out #no-growth', () => {
    const held = new HeldLetters();
    for (let delivered = 1; delivered <= 100; delivered += 1) held.add(ack(7, delivered), 10);
    held.add(ack(8, 1), 5);
    expect([held.size, held.bytes]).toEqual([2, 15]);
    expect(held.acks).toEqual([ack(7, 100), ack(8, 1)]);
  });

  it('are acknowledged by their last delivery only, once #broker-once #no-growth', () => {
    const held = new HeldLetters();
    held.add(ack(7, 1), 10);
    held.add(ack(7, 2), 10);
    expect([held.release(ack(7, 1)), held.size]).toEqual([false, 1]);
    expect([held.release(ack(7, 2)), held.size, held.bytes]).toEqual([true, 0, 0]);
    expect(held.release(ack(7, 2))).toBe(false);
  });

  it('are not handed out again once they are acknowledged, as far as many letters back #broker-once #no-growth', () => {
    const held = new HeldLetters();
    for (let sequence = 1; sequence <= 4_097; sequence += 1) {
      expect([held.add(ack(sequence, 1), 10), held.release(ack(sequence, 1))]).toEqual([
        true,
        true,
      ]);
    }
    expect([held.add(ack(4_097, 2), 10), held.add(ack(2, 2), 10)]).toEqual([false, false]);
    expect([held.size, held.add(ack(1, 2), 10)]).toEqual([0, true]);
  });

  it('are told apart where newer servers name domain and account, too', () => {
    const held = new HeldLetters();
    const long = (sequence: number) => `$JS.ACK._.acc.hf-mail.consumer.1.${sequence}.1.17.0.x`;
    held.add(long(1), 1);
    held.add(long(2), 1);
    expect(held.size).toBe(2);
  });
});
