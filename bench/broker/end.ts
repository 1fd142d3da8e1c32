// One end of all ways, as a process of its own: the requester or the responder. It is told over the channel of its
// parent which way to open, and the requester also to put load on it; it says when it is done.

import { bareNatsRequester, bareNatsResponder } from './bare-nats.ts';
import { bareWsRequester, bareWsResponder } from './bare-ws.ts';
import { linkRequester, linkResponder } from './link-way.ts';
import type { Places, Requester, WayName } from './way.ts';

export type Order =
  | { readonly do: 'open'; readonly way: WayName; readonly places: Places }
  | {
      readonly do: 'load';
      readonly way: WayName;
      readonly inFlight: number;
      readonly bytes: number;
      readonly ms: number;
    };

export interface Loaded {
  readonly perSecond: number;
  readonly p50Us: number;
}

const requesters: Readonly<Record<WayName, (places: Places) => Promise<Requester>>> = {
  'bare ws': ({ relay }) => bareWsRequester(relay),
  'embedded, told': ({ embedded }) => linkRequester(embedded, false),
  'embedded, kept': ({ embedded }) => linkRequester(embedded, true),
  'bare NATS': ({ bareNats }) => bareNatsRequester(bareNats),
  'NATS, told': ({ nats }) => linkRequester(nats, false),
  'NATS, kept': ({ nats }) => linkRequester(nats, true),
};
const responders: Readonly<Record<WayName, (places: Places) => Promise<void>>> = {
  'bare ws': ({ relay }) => bareWsResponder(relay),
  'embedded, told': ({ embedded }) => linkResponder(embedded, false),
  'embedded, kept': ({ embedded }) => linkResponder(embedded, true),
  'bare NATS': ({ bareNats }) => bareNatsResponder(bareNats),
  'NATS, told': ({ nats }) => linkResponder(nats, false),
  'NATS, kept': ({ nats }) => linkResponder(nats, true),
};

const isRequester = process.argv[2] === 'requester';
/** One for each way. */
const open = new Map<WayName, Requester>();

process.on('disconnect', () => process.exit(0));
process.on('message', (order: Order) => {
  carryOut(order).then(
    (said) => process.send?.(said ?? null),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

async function carryOut(order: Order): Promise<Loaded | undefined> {
  switch (order.do) {
    case 'open': {
      const { way, places } = order;
      if (isRequester) open.set(way, await requesters[way](places));
      else await responders[way](places);
      return undefined;
    }
    case 'load':
      return await load(open.get(order.way) as Requester, order);
  }
}

/** So many callers, each with one request after the other. The time ends when all that was asked is settled. */
async function load(
  requester: Requester,
  { inFlight, bytes, ms }: Extract<Order, { readonly do: 'load' }>,
): Promise<Loaded> {
  const body = Buffer.alloc(bytes, 'x');
  const took: number[] = [];
  const began = performance.now();
  const until = began + ms;
  const caller = async () => {
    for (let at = performance.now(); at < until; ) {
      const answer = await requester.ask(body);
      if (answer.length !== bytes) throw new Error(`an answer has ${answer.length} bytes`);
      const now = performance.now();
      took.push(now - at);
      at = now;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  await requester.settled();
  const seconds = (performance.now() - began) / 1_000;
  const sorted = took.sort((one, other) => one - other);
  const p50Us = (sorted[Math.floor(sorted.length / 2)] ?? Number.NaN) * 1_000;
  return { perSecond: took.length / seconds, p50Us };
}
