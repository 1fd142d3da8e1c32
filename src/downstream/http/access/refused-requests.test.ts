// Requests that were refused before they were anybody's: counted, and told once a minute.

import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import { RefusedRequests } from './refused-requests.ts';

const request = (url: string) =>
  ({ method: 'GET', url, socket: { remoteAddress: '10.0.0.9' } }) as unknown as IncomingMessage;

describe('requests that were refused', () => {
  it('are counted, and the operator gets at most one line a minute #http-edge', () => {
    const clock = manualClock();
    const lines: string[] = [];
    const refused = new RefusedRequests(clock, (line) => void lines.push(line));
    for (let n = 0; n < 500; n += 1) refused.add(401, request('/mcp?token=secret'));
    expect(lines).toEqual(['http: refused GET /mcp from 10.0.0.9 with 401']);
    clock.advance(60_000);
    refused.add(404, request(`/\u001b[2J${'x'.repeat(10_000)}`));
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain('with 404; 499 more since the line before');
    expect(lines[1]).not.toContain('\u001b');
    expect(lines[1]?.length).toBeLessThan(250);
    expect(refused.counts).toEqual({ unauthorized: 500, notFound: 1 });
  });
});
