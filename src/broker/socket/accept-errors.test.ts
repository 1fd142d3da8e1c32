// A connection that could not be accepted. An emitter instead of the socket: the system refuses one only in a shortage.

import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { reportAcceptErrors } from './accept-errors.ts';

describe('a connection that could not be accepted', () => {
  it('is reported, once a minute, and ends nothing #one-bad-neighbour', () => {
    const server = new EventEmitter();
    const lines: string[] = [];
    const report = (text: string) => lines.push(text);
    reportAcceptErrors(server, { clock: manualClock(), report });
    const error = Object.assign(new Error('accept'), { code: 'ENOBUFS' });
    for (let times = 0; times < 10; times += 1) server.emit('error', error);
    expect(lines).toEqual([expect.stringContaining('ENOBUFS')]);
  });
});
