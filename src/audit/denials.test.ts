// Denied requests in the audit log: each is in it, by a line or by a count, and nobody can fill a disk with them.

import { describe, expect, it } from 'vitest';
import { auditFolder, auditTrail } from '../../test/support/audit-log.ts';
import { manualClock, settled } from '../../test/support/manual-clock.ts';
import type { DeniedRecord } from './audit-record.ts';
import {
  type Denial,
  Denials,
  denialWindowMs,
  maxDenialLines,
  maxDeniedPrincipals,
} from './denials.ts';

let number = 0;

function denied(principal: string, name: string, at = 1): Denial {
  const asked = { principal, role: 'r', path: null, server: 'files', what: 'tool', name };
  const why = { method: 'tools/call', reason: 'no pattern matches it' };
  const record = { kind: 'denied', at, id: `p1-${++number}`, ...asked, ...why } as const;
  return { ...record, wish: ['files', 'tool', name], record: () => record };
}

function newDenials() {
  const clock = manualClock();
  const lines: DeniedRecord[] = [];
  const denials = new Denials({ clock, write: (record) => lines.push(record) });
  const inAll = () => lines.reduce((sum, { count = 1 }) => sum + count, 0);
  return { clock, lines, denials, inAll };
}

describe('denied requests of one principal', () => {
  it('that are the same have one line at once and one with their number after a minute #audit', () => {
    const { clock, lines, denials } = newDenials();
    for (let at = 1; at <= 1_000; at += 1) denials.add(denied('token:a', 'secret', at));
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toHaveProperty('count');
    clock.advance(denialWindowMs);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatchObject({ name: 'secret', count: 999, at: 1_000 });
    expect(lines[1]?.id).not.toBe(lines[0]?.id);
    clock.advance(denialWindowMs);
    expect(lines).toHaveLength(2);
    denials.add(denied('token:a', 'secret'));
    expect(lines).toHaveLength(3);
  });

  it('that are all different are limited, and none is missing in the counts #audit #no-growth', () => {
    const { clock, lines, denials, inAll } = newDenials();
    for (let at = 1; at <= 5_000; at += 1) denials.add(denied('token:a', `name-${at}`));
    for (let at = 1; at <= 3; at += 1) denials.add(denied('token:a', 'name-2'));
    denials.add(denied('token:b', 'secret'));
    expect(lines).toHaveLength(maxDenialLines + 1);
    clock.advance(denialWindowMs);
    expect(lines).toHaveLength(maxDenialLines + 3);
    expect(lines.at(-2)).toMatchObject({ name: 'name-2', count: 3 });
    const rest = { principal: 'token:a', server: null, name: null, count: 5_000 - maxDenialLines };
    expect(lines.at(-1)).toMatchObject(rest);
    expect(inAll()).toBe(5_004);
  });

  it('are counted for a bounded number of principals; the first is written early #no-growth', () => {
    const { lines, denials } = newDenials();
    for (const _time of [1, 2]) denials.add(denied('token:0', 'secret'));
    for (let one = 1; one < maxDeniedPrincipals; one += 1) denials.add(denied(`token:${one}`, 'x'));
    expect(lines.some(({ count }) => count !== undefined)).toBe(false);
    denials.add(denied('token:new', 'x'));
    expect(lines.at(-2)).toMatchObject({ principal: 'token:0', count: 1 });
  });
});

describe('the record of a denied request', () => {
  it('is made for those that get a line of their own, and for no other #audit #no-growth', () => {
    const { clock, lines, denials } = newDenials();
    let made = 0;
    for (let at = 1; at <= 1_000; at += 1) {
      const one = denied('token:a', `name-${at % 100}`);
      denials.add({
        ...one,
        record: () => {
          made += 1;
          return one.record();
        },
      });
    }
    clock.advance(denialWindowMs);
    expect(made).toBe(maxDenialLines);
    expect(lines.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(1_000);
  });

  it('is another one for another role or path of the same principal #audit', () => {
    const { lines, denials } = newDenials();
    const one = denied('token:a', 'secret');
    for (const part of [{}, { role: 'other' }, { path: 'server/files' }]) {
      denials.add({ ...one, ...part });
    }
    expect(lines).toHaveLength(3);
  });
});

describe('a denied request whose record cannot be made', () => {
  it('costs no other one its record, and is missed by the log #audit #one-bad-neighbour', async () => {
    const { trail, clock, disk, errors } = auditTrail();
    const defect = new Error('a defect');
    const record = () => {
      throw defect;
    };
    trail.noteDenied(denied('token:a', 'first'));
    trail.noteDenied({ ...denied('token:a', 'second'), record });
    trail.noteDenied(denied('token:a', 'third'));
    await clock.advanceAsync(20);
    expect([errors, trail.health.lost]).toEqual([[defect], 1]);
    await trail[Symbol.asyncDispose]();
    const lines = disk.records(`${auditFolder}/1`);
    expect(lines.map(({ kind, name }) => name ?? kind)).toEqual([
      ...['start', 'lost', 'first', 'third', 'stop'],
    ]);
    expect(lines[1]).toMatchObject({ records: 1 });
  });
});

describe('the count of denied requests', () => {
  it('is written when the log ends #audit', async () => {
    const { trail, disk } = auditTrail();
    for (let at = 1; at <= 7; at += 1) trail.noteDenied(denied('token:a', 'secret'));
    await trail[Symbol.asyncDispose]();
    trail.noteDenied(denied('token:a', 'secret'));
    await settled();
    const lines = disk.records(`${auditFolder}/1`);
    expect(lines.map(({ kind, count }) => [kind, count])).toEqual([
      ['start', undefined],
      ['denied', undefined],
      ['denied', 6],
      ['stop', undefined],
    ]);
  });
});
