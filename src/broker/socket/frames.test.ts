// The frames of the embedded broker: what is encoded is decoded as it was, whatever is in it.

import { describe, expect, it } from 'vitest';
import { type ClientFrame, decodeClientFrame, decodeHubFrame, encodeFrame } from './frames.ts';
import { headerText } from './header-text.ts';

const letter = { n: 7, id: 'call-1', to: 'boss', kind: 'note' } as const;
const odd = '!"\\]{}~';

describe('the header of a frame', () => {
  it.each<ClientFrame>([
    { is: 'tell', ...letter },
    { is: 'tell', ...letter, all: true, seat: 'a_b-C', about: odd, ttl: 0.5 },
    { is: 'tell', ...letter, id: odd, all: false },
    { is: 'deliver', ...letter, id: `${odd}x`, ttl: 600_000 },
    { is: 'deliver', ...letter, seat: 's', about: 'call-0' },
    { is: 'ack', mails: [1, 2] },
    { is: 'hello', version: 1, seat: 's' },
  ])('is read as it was written: %j', (header) => {
    const body = Buffer.from('{"body":"é"}');
    const decoded = decodeClientFrame(encodeFrame(header, body));
    const { all, ...rest } = header as ClientFrame & { readonly all?: boolean };
    expect(decoded?.header).toEqual(all === true ? header : rest);
    expect(decoded?.body).toEqual(body);
    expect(JSON.parse(headerText(header))).toEqual(decoded?.header);
  });

  it.each([null, 'reader', 'quoted " \\ role', 'Prüferin', '\u0000\n\ud800'])(
    'has the role as the credential has it: %j',
    (role) => {
      const mail = { is: 'mail', mail: 3, id: odd, from: 'ann.mcp', seat: 's', kind: 'k' } as const;
      const header = { ...mail, role, about: odd, ttl: 12.25 };
      const decoded = decodeHubFrame(encodeFrame(header, Buffer.from([0, 255])));
      expect(decoded).toEqual({ header, body: Buffer.from([0, 255]) });
    },
  );
});
