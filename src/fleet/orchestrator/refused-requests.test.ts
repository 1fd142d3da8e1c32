// Requests of workers that are refused before they run. One that was told is judged anew when it is asked again, and
// nothing is kept of it. One that was delivered may come again by itself with another link, when its worker has already
// been told that it did not run: it is refused again. A worker that asks anew, as with the same idempotency key, is served.

import { describe, expect, it } from 'vitest';
import { ReadMail } from '../../../test/support/broker-suite/read-mail.ts';
import { playedRequest, startPlayedFleet } from '../../../test/support/played-fleet.ts';
import { until } from '../../../test/support/until.ts';
import { faultResult } from '../../downstream/refusals.ts';
import { Fault } from '../../kernel/fault.ts';
import { localUser } from '../../policy/principal.ts';
import { usualCallBookLimits } from './call-book.ts';

describe('a request that is refused', () => {
  it('because too many run may be asked again when there is room #no-growth', async () => {
    await using fleet = await startPlayedFleet();
    fleet.gateway.answer = undefined;
    const bob = await fleet.broker.link('bob', 'caller');
    const replies = await ReadMail.of(bob, 'mcp-reply');
    const body = Buffer.from(playedRequest('tool'));
    const ask = (id: string) => bob.tell({ id, to: 'boss', kind: 'mcp-request', about: id, body });
    const { runningOfWorker } = usualCallBookLimits;
    for (let at = 0; at < runningOfWorker; at += 1) ask(`call-${at}`);
    await until(() => fleet.gateway.runs.length === runningOfWorker, 'they run');
    ask('refused');
    expect((await replies.next()).body.toString()).toContain('Too many requests');
    fleet.gateway.runs[0]?.reply.answer(['first']);
    expect((await replies.next()).body.toString()).toBe('first');
    ask('refused');
    await until(() => fleet.gateway.runs.length === runningOfWorker + 1, 'it runs');
    fleet.gateway.runs.at(-1)?.reply.answer(['now']);
    expect((await replies.next()).body.toString()).toBe('now');
  });

  it('because too many run does not run when its letter comes again #broker-once', async () => {
    await using fleet = await startPlayedFleet();
    fleet.gateway.answer = undefined;
    const bob = await fleet.broker.link('bob', 'caller');
    const replies = await ReadMail.of(bob, 'mcp-reply');
    const body = Buffer.from(playedRequest('tool'));
    const letter = (id: string) => ({ id, to: 'boss', kind: 'mcp-request', about: id, body });
    const ask = (id: string) => bob.deliver(letter(id));
    const { runningOfWorker } = usualCallBookLimits;
    for (let at = 0; at < runningOfWorker; at += 1) await ask(`call-${at}`);
    await until(() => fleet.gateway.runs.length === runningOfWorker, 'they run');
    await ask('refused');
    expect((await replies.next()).body.toString()).toContain('Too many requests');
    fleet.gateway.runs[0]?.reply.answer(['first']);
    expect((await replies.next()).body.toString()).toBe('first');
    await fleet.newOrchestratorLink();
    bob.tell(letter('refused'));
    expect((await replies.next()).body.toString()).toContain('Too many requests');
    expect(fleet.gateway.runs).toHaveLength(runningOfWorker);
  });

  it('before it ran, in whichever words, is served when its worker asks anew by the same id #idempotency-key', async () => {
    await using fleet = await startPlayedFleet();
    const fault = new Fault('draining', 'as the test says');
    const result = faultResult(fault, { isModern: true, principal: localUser });
    fleet.gateway.answer = () => `{"jsonrpc":"2.0","id":1,"result":${result}}`;
    const bob = await fleet.broker.link('bob', 'caller');
    const replies = await ReadMail.of(bob, 'mcp-reply');
    const body = Buffer.from(playedRequest('tool'));
    const ask = () =>
      bob.deliver({ id: 'same', to: 'boss', kind: 'mcp-request', about: 'same', body });
    await ask();
    const refusal = await replies.next();
    expect(refusal.body.toString()).toContain('draining');
    refusal.ack();
    fleet.gateway.answer = () => 'done';
    // Asked at once: the broker must not take it for the letter that was refused.
    await ask();
    expect((await replies.next()).body.toString()).toBe('done');
  });

  it('because it cannot be read is refused each time, and takes no place of those that run #no-growth', async () => {
    await using fleet = await startPlayedFleet();
    const bob = await fleet.broker.link('bob', 'caller');
    const replies = await ReadMail.of(bob, 'mcp-reply');
    const send = (id: string, text: string) =>
      bob.tell({ id, to: 'boss', kind: 'mcp-request', about: id, body: Buffer.from(text) });
    for (let at = 0; at < 3; at += 1) {
      send('bad', '{');
      expect((await replies.next()).body.toString()).toContain('-32700');
    }
    // The id is not used up.
    send('bad', playedRequest('tool'));
    expect((await replies.next()).body.toString()).toBe(playedRequest('tool'));
  });
});
