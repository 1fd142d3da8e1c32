// What clients are told of requests that meet a gateway which is going down.

import { Fault } from '../../kernel/fault.ts';

/** The fault of a call that was cut off at the end, from the one it was cut off with. */
export function drainedFault(cut: Fault): Fault {
  if (cut.code !== 'cancelled') return cut;
  const { server, tool, attempts, generation, dispatched } = cut.record;
  const subject = tool === undefined ? `the request to ${server}` : `${server}/${tool}`;
  const facts = {
    server,
    attempts,
    dispatched,
    ...(tool === undefined ? {} : { tool }),
    ...(generation === undefined ? {} : { generation }),
  };
  return dispatched === 'no'
    ? new Fault('draining', `the gateway is going down; ${subject} was not sent`, facts, cut)
    : new Fault('outcome_unknown', `${subject} was sent and ${unknown}`, facts, cut);
}

/** Refuses what comes after the end has begun. */
export function drainingFault(server = ''): Fault {
  return new Fault('draining', 'the gateway is going down and takes no new requests', { server });
}

/** It was with its server, and that is all we know. */
export function lostFault(): Fault {
  return new Fault('outcome_unknown', `the request was with its server and ${unknown}`, {
    dispatched: 'maybe',
  });
}

const unknown =
  'may have run, then the gateway went down; check its effect before you send it again';
