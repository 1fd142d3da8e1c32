// The faults for requests during a shutdown of the gateway.

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
    ? new Fault('draining', `the gateway is shutting down; ${subject} was not sent`, facts, cut)
    : new Fault('outcome_unknown', `${subject} was sent and ${unknown}`, facts, cut);
}

/** Refuses what comes after the end has begun. */
export function drainingFault(server = ''): Fault {
  return new Fault('draining', 'the gateway is shutting down and takes no new requests', {
    server,
  });
}

/** It was sent to its server; nothing more is known. */
export function lostFault(): Fault {
  return new Fault('outcome_unknown', `the request was sent to its server and ${unknown}`, {
    dispatched: 'maybe',
  });
}

const unknown =
  'may have run before the gateway shut down; check its effect before you send it again';
