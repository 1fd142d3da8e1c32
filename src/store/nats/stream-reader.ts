// Reads a stream in pages, through a consumer that exists for one page. The consumer is asked for as many messages as
// fit into one request; it tells with each message how many are left, so that the end is known and not guessed.

import { randomBytes } from 'node:crypto';
import type { Msg } from '@nats-io/transport-node';
import { ignored } from '../../kernel/contain.ts';
import { NatsError } from '../../nats/nats-error.ts';
import { answerMs, type Session } from './session.ts';
import { type Delivered, messageFrom } from './stored-message.ts';

export interface WantedPage {
  /** The lowest sequence. */
  readonly from: number;
  readonly limit: number;
  /** Without the bodies. */
  readonly isHeadersOnly?: boolean;
}

export interface StreamPage {
  readonly messages: readonly Delivered[];
  /** Nothing came after the last one when it was sent. */
  readonly isEnd: boolean;
}

const atOnce = 256;
const atOnceBytes = 4 * 1024 * 1024;
/** A consumer that is left behind is removed by the server. */
const unusedNs = 30_000_000_000;

/** Rejects with an ApiError or a NatsError. */
export async function readPage(
  session: Session,
  stream: string,
  { from, limit, isHeadersOnly = false }: WantedPage,
): Promise<StreamPage> {
  const { api } = session;
  const name = `hf${randomBytes(8).toString('hex')}`;
  const start =
    from <= 1
      ? { deliver_policy: 'all' }
      : { deliver_policy: 'by_start_sequence', opt_start_seq: from };
  const config = {
    name,
    ack_policy: 'none',
    replay_policy: 'instant',
    mem_storage: true,
    inactive_threshold: unusedNs,
    headers_only: isHeadersOnly,
    ...start,
  };
  const made = await api.call(`CONSUMER.CREATE.${stream}.${name}`, { stream_name: stream, config });
  const waiting = Number(made['num_pending']);
  if (waiting === 0) {
    api.call(`CONSUMER.DELETE.${stream}.${name}`).catch(ignored);
    return { messages: [], isEnd: true };
  }
  try {
    return await pulled(session, `${stream}.${name}`, limit);
  } finally {
    // One that stays is removed by the server later.
    api.call(`CONSUMER.DELETE.${stream}.${name}`).catch(ignored);
  }
}

async function pulled(session: Session, consumer: string, limit: number): Promise<StreamPage> {
  const messages: Delivered[] = [];
  while (messages.length < limit) {
    const { some, isDrained } = await pull(
      session,
      consumer,
      Math.min(atOnce, limit - messages.length),
    );
    for (const message of some) messages.push(message);
    if (isDrained || some.at(-1)?.pending === 0) return { messages, isEnd: true };
  }
  return { messages, isEnd: false };
}

interface Pulled {
  /** Fewer than asked for if they were enough bytes. */
  readonly some: readonly Delivered[];
  /** The server has no more. */
  readonly isDrained: boolean;
}

function pull({ wire, clock }: Session, consumer: string, batch: number): Promise<Pulled> {
  return new Promise((resolve, reject) => {
    const inbox = wire.newInbox();
    const some: Delivered[] = [];
    let timer: Disposable | undefined;
    let ending: Disposable | undefined;
    const end = () => {
      timer?.[Symbol.dispose]();
      ending?.[Symbol.dispose]();
      subscription[Symbol.dispose]();
    };
    const done = (isDrained: boolean) => {
      end();
      resolve({ some, isDrained });
    };
    const failed = (why: NatsError) => {
      end();
      reject(why);
    };
    const wait = () => {
      timer?.[Symbol.dispose]();
      timer = clock.after(answerMs, () => failed(new NatsError('timeout', silent)));
    };
    const heard = (message: Msg) => {
      const delivered = messageFrom(message);
      if (delivered === undefined) {
        const code = message.headers?.code ?? 0;
        if (code === 100) return;
        if (code === noMessages || code === noMore) return done(true);
        // The rest is too large for one request, or the consumer is gone.
        return some.length > 0 ? done(false) : failed(new NatsError('lost', interrupted));
      }
      some.push(delivered);
      if (some.length === batch || delivered.pending === 0) return done(false);
      wait();
    };
    const subscription = wire.subscribe(inbox, heard);
    wait();
    const request = JSON.stringify({ batch, max_bytes: atOnceBytes, no_wait: true });
    wire.publish(`$JS.API.CONSUMER.MSG.NEXT.${consumer}`, request, { reply: inbox });
    ending = wire.onEnd(failed);
  });
}

const noMessages = 404;
const noMore = 408;
const silent = 'the NATS server did not answer in time';
const interrupted = 'the NATS server has given up a reading';
