// A worker with a credential of its own and a client of its own, on either broker: it writes letters that claim to be
// from somebody else, have another role or want their answer sent elsewhere, and sees what comes to its mailbox.

import { connect, headers } from '@nats-io/transport-node';
import type { Link } from '../../src/broker/contract.ts';
import { type Identity, senderOf } from '../../src/broker/identity.ts';
import { openNatsLink } from '../../src/broker/nats/nats-link.ts';
import { partOf, senderParts } from '../../src/broker/nats/subjects.ts';
import { decodeHubFrame } from '../../src/broker/socket/frames.ts';
import { openSocketLink } from '../../src/broker/socket/socket-link.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { RawBrokerLink } from './raw-broker-link.ts';

/** What it claims; nothing of it is so. */
export interface Claims {
  readonly from?: string;
  readonly role?: string;
  readonly replyTo?: string;
}

export interface ForgedLetter {
  readonly way: 'deliver' | 'tell';
  readonly id: string;
  readonly kind: string;
  readonly about?: string;
  readonly body: string | Buffer;
}

export interface Came {
  readonly kind: string;
  readonly about: string | undefined;
  readonly body: Buffer;
}

export interface HostileWorker extends AsyncDisposable {
  /** To the mailbox boss; whether the broker has taken it. */
  writes(letter: ForgedLetter, claims?: Claims): Promise<'taken' | 'refused'>;
  /** What has come to its mailbox. */
  readonly came: readonly Came[];
}

const kinds = ['mcp-reply', 'mcp-chunk', 'mcp-news'] as const;

/** At the embedded broker: members of a frame that the protocol does not have. */
export async function hostileAtHub(url: string, secret: string): Promise<HostileWorker> {
  const link = new RawBrokerLink(url, { secret });
  const came: Came[] = [];
  let numbers = 0;
  const answered = new Map<number, (how: 'taken' | 'refused') => void>();
  link.socket.on('message', (data: Buffer) => {
    const frame = decodeHubFrame(data);
    if (frame === undefined) return;
    const { header, body } = frame;
    if (header.is === 'mail') came.push({ kind: header.kind, about: header.about, body });
    if (header.is === 'done') for (const n of header.ns) answered.get(n)?.('taken');
    if (header.is === 'refused') answered.get(header.n)?.('refused');
    if (header.is === 'present') answered.get(header.n)?.('taken');
  });
  const ask = (frame: object, body?: Buffer) =>
    new Promise<'taken' | 'refused'>((resolve) => {
      numbers += 1;
      answered.set(numbers, resolve);
      link.says({ ...frame, n: numbers }, body);
      // A told letter is answered only if it is refused; that comes before the answer to this.
      if ('is' in frame && frame.is === 'tell') {
        numbers += 1;
        answered.set(numbers, resolve);
        link.says({ is: 'present', n: numbers });
      }
    });
  await link.status;
  link.hello();
  for (const kind of kinds) await ask({ is: 'receive', kind });
  return {
    came,
    writes: ({ way, body, ...letter }, { from, role, replyTo } = {}) =>
      ask(
        { is: way, to: 'boss', ...letter, from, role, mailbox: from, replyTo, reply: replyTo },
        Buffer.from(body),
      ),
    [Symbol.asyncDispose]: async () => link.socket.terminate(),
  };
}

/** At a NATS server: other parts of a subject, headers and reply addresses. */
export async function hostileAtNats(
  url: string,
  identity: Identity,
  secret: string,
): Promise<HostileWorker> {
  const { mailbox, role } = identity;
  const nats = await connect({
    servers: url,
    user: mailbox,
    pass: secret,
    inboxPrefix: `_INBOX.${partOf(mailbox)}`,
    reconnect: false,
  });
  let refusals = 0;
  const listening = (async () => {
    for await (const status of nats.status()) if (status.type === 'error') refusals += 1;
  })();
  listening.catch(() => {});
  const own = await linkOf(url, identity, secret, 'raw');
  const came: Came[] = [];
  for (const kind of kinds) await own.receive(kind, (mail) => void came.push(mail));
  const publish = async (letter: ForgedLetter, subject: string, claims: Claims) => {
    const forged = headers();
    forged.set('Hf-Id', letter.id);
    if (letter.about !== undefined) forged.set('Hf-About', letter.about);
    for (const [name, value] of Object.entries(claims)) {
      forged.set(`Hf-${name}`, value);
      forged.set(name, value);
    }
    const { replyTo } = claims;
    const options = { headers: forged, ...(replyTo !== undefined && { reply: replyTo }) };
    nats.publish(subject, letter.body, options);
    await nats.flush();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    came,
    writes: async (letter, claims = {}) => {
      const before = refusals;
      const way = letter.way === 'deliver' ? 'mail' : 'tell';
      const claimed = { mailbox: claims.from ?? mailbox, role: claims.role ?? role };
      const named = senderParts({ ...senderOf(identity, 'raw'), ...claimed });
      await publish(letter, `hf.${way}.boss.~now.${letter.kind}.~any.${named}`, claims);
      if (refusals > before) return 'refused';
      return 'taken';
    },
    [Symbol.asyncDispose]: async () => {
      await nats.close();
      await own.close();
    },
  };
}

/** A link of the product, for one who is what it says. */
export function linkOf(
  url: string,
  identity: Identity,
  secret: string,
  seat: string,
): Promise<Link> {
  const clock = systemClock;
  const never = new AbortController().signal;
  if (url.startsWith('ws:')) return openSocketLink({ url, secret, seat, clock }, never);
  const caught = (error: unknown) => {
    throw error;
  };
  const about = { url, identity, secret, seat, clock, caught, kinds: ['mcp-reply'] };
  return openNatsLink({ ...about, report: () => {} }, never);
}
