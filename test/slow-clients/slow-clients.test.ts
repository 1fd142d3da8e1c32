// The proof in small: the same crowds, a few of each. What it takes in memory and time is judged by
// `npm run slowclients`; here everybody who reads is served, and everything ends properly.

import { describe, expect, it } from 'vitest';
import { slowClients } from './slow-clients.ts';

describe('clients that do not read', () => {
  it('harm nobody who does, and keep no gateway from ending #slow-client #drain', async () => {
    const size = { clients: 3, sessions: 50, rounds: 1, changes: 20 };
    const { findings, figures } = await slowClients({ ...size, progress: () => {} });
    const valueNamed = (name: string) => figures.find(({ name: own }) => own === name)?.value;
    expect(findings).toEqual([]);
    expect(valueNamed('healthy calls beside them')).toBeGreaterThan(0);
    expect(valueNamed('gateways that did not end with exit code 0')).toBe(0);
    expect(valueNamed('stdio client that stops: exit code after SIGTERM')).toBe(0);
  });
});
