// What is sent to the gateway in one connection, with what must come of it. Most cases are one good
// request spoilt in one way, so that it is known why it is refused; others are several in a row, or
// bytes changed at random, of which only the rules for every answer can be asked.

import type { Dice } from '../simulation/random.ts';
import { agree, shortly } from './disagreement.ts';
import { documentAt } from './documents.ts';
import {
  checkAnswer,
  type HttpAnswer,
  isOfParser,
  rpcErrorIn,
  rpcResultId,
} from './http-answers.ts';
import { breakers } from './http-breakers.ts';
import { meaningfulRequest, withSession } from './http-meanings.ts';
import { oddities } from './http-oddities.ts';
import { bytesOf, goodCall, type HttpRequest, withBody, withHeader } from './http-request.ts';
import { spoilers } from './http-spoilers.ts';
import { messageRefusals } from './listed-refusals.ts';
import { mutated } from './mutations.ts';
import { judged } from './token-tree.ts';

export interface HttpCase {
  readonly kind: string;
  readonly bytes: Buffer;
  /** How many answers must come; undefined where the bytes may mean anything. */
  readonly answers: number | undefined;
  readonly check: (answer: HttpAnswer, at: number) => void;
  /** Calls that must have run once, and calls that must not have run, by their nonces. */
  readonly served: readonly string[];
  readonly refused: readonly string[];
}

export interface Gate {
  readonly port: number;
  readonly token: string | null;
  /** Of two legacy clients, by their revisions. */
  readonly sessions: { readonly latest: string; readonly batching: string };
}

export function httpCase(gate: Gate, nonce: string, dice: Dice): HttpCase {
  const kind = dice.next();
  if (kind < 0.1) return pipeline([good(gate, nonce)]);
  if (kind < 0.4) return pipeline([spoilt(gate, nonce, dice)]);
  if (kind < 0.5) return pipeline(several(gate, nonce, dice));
  if (kind < 0.6) return document(gate, dice);
  if (kind < 0.7) return broken(gate, nonce, dice);
  if (kind < 0.75) return odd(gate, nonce, dice);
  if (kind < 0.85) return meaningful(gate, dice);
  if (kind < 0.9) return batch(gate, nonce);
  if (kind < 0.92) return stream(gate, dice);
  return changed(gate, nonce, dice);
}

/** One request of a case whose answer is known. */
interface Known {
  readonly kind: string;
  readonly request: HttpRequest;
  readonly nonce: string;
  readonly isServed: boolean;
  readonly check: (answer: HttpAnswer) => void;
}

/** The last of them asks for the connection to be closed: then all there is has come. */
function pipeline(requests: readonly Known[]): HttpCase {
  const bytes = requests.map(({ request }, at) => {
    const isLast = at === requests.length - 1;
    return bytesOf(isLast ? withHeader(request, 'Connection', 'close') : request);
  });
  const ids = (isServed: boolean) =>
    requests.filter((one) => one.isServed === isServed).map(({ nonce }) => nonce);
  return {
    kind: requests.length > 1 ? 'several in a row' : (requests[0]?.kind ?? ''),
    bytes: Buffer.concat(bytes),
    answers: requests.length,
    check: (answer, at) => requests[at]?.check(answer),
    served: ids(true),
    refused: ids(false),
  };
}

function good({ port, token }: Gate, nonce: string): Known {
  return {
    kind: 'good',
    request: goodCall(nonce, port, token),
    nonce,
    isServed: true,
    check: (answer) => {
      agree(answer.status === 200, () => `a good request is answered with ${answer.status}`);
      agree(rpcResultId(answer) === nonce, () => 'a good request has the answer of another');
    },
  };
}

function spoilt(gate: Gate, nonce: string, dice: Dice): Known {
  let spoiler = dice.pick(spoilers);
  while (spoiler.isAboutTokens && gate.token === null) spoiler = dice.pick(spoilers);
  const { name, status, code, spoil } = spoiler;
  const before = goodCall(nonce, gate.port, gate.token);
  const request = spoil(dice.chance(0.2) ? { ...before, framing: 'chunked' } : before, dice);
  return {
    kind: `spoilt: ${name}`,
    request,
    nonce,
    isServed: false,
    check: (answer) => {
      agree(
        answer.status === status,
        () => `${name} is answered with ${answer.status}: ${shortly(answer.body.toString())}`,
      );
      if (code === undefined) return;
      const error = rpcErrorIn(answer);
      agree(error.code === code, () => `${name} is answered with ${error.code}, not ${code}`);
    },
  };
}

function several(gate: Gate, nonce: string, dice: Dice): Known[] {
  return Array.from({ length: dice.between(2, 5) }, (_, at) => {
    const own = `${nonce}-${at}`;
    return dice.chance(0.5) ? good(gate, own) : spoilt(gate, own, dice);
  });
}

/** A document of the scanner's as a body: refused by the same rules, with the same words. */
function document(gate: Gate, dice: Dice): HttpCase {
  const bytes = documentAt(dice.between(0, 2 ** 31), dice.between(0, 1_000_000));
  const oracle = judged(bytes);
  const reasons = oracle.kind === 'json' ? messageRefusals(oracle) : undefined;
  const request = withBody(goodCall('', gate.port, gate.token), bytes);
  const isModern = dice.chance(0.5);
  const headers = isModern ? request : withHeader(request, 'MCP-Protocol-Version', '2025-11-25');
  const check = (answer: HttpAnswer) => {
    if (reasons !== undefined && reasons.length === 0) return;
    agree(answer.status === 400, () => `a body that is refused is answered with ${answer.status}`);
    const { code } = rpcErrorIn(answer);
    const isBroken = reasons === undefined || reasons.includes('too-deep');
    // A batch that is read at all is refused for what is in it, or because there are none here.
    const isBatch = reasons?.includes('batch') === true;
    const isSaid = isBroken ? code === -32_700 : code === -32_600 || isBatch;
    agree(isSaid, () => `a body that is ${reasons?.join() ?? 'no JSON'} is answered with ${code}`);
  };
  return {
    ...pipeline([{ kind: 'document', request: headers, nonce: '', isServed: false, check }]),
    refused: [],
  };
}

/** Past the edge, whatever it means: one answer, and no defect. */
function meaningful(gate: Gate, dice: Dice): HttpCase {
  const session = dice.chance(0.4) ? gate.sessions.latest : undefined;
  const request = meaningfulRequest(gate, session, dice);
  const check = (answer: HttpAnswer) => {
    const text = answer.body.toString();
    agree(!text.includes('"code":"internal"'), () => `a defect of ours: ${shortly(text)}`);
    agree(
      text.includes('"jsonrpc":"2.0"'),
      () => `no JSON-RPC, but ${answer.status}: ${shortly(text)}`,
    );
  };
  return {
    ...pipeline([{ kind: 'meaningful', request, nonce: '', isServed: false, check }]),
    refused: [],
  };
}

/** Two calls in one body, for the one revision that has such. */
function batch(gate: Gate, nonce: string): HttpCase {
  const nonces = [`${nonce}-a`, `${nonce}-b`];
  const before = goodCall(nonce, gate.port, gate.token);
  const calls = nonces.map((own) => goodCall(own, gate.port, gate.token).body.toString());
  const bare = calls.map((call) => call.replace(/,"_meta":\{.*\}\}\}$/, '}}'));
  const request = withSession(
    withBody(before, `[${bare.join(',')}]`),
    gate.sessions.batching,
    '2025-03-26',
  );
  const check = (answer: HttpAnswer) => {
    const text = answer.body.toString();
    const missing = nonces.filter((own) => !text.includes(`"id":${JSON.stringify(own)}`));
    agree(
      answer.status === 200 && missing.length === 0,
      () => `a batch is answered with ${answer.status}: ${shortly(text)}`,
    );
  };
  return {
    ...pipeline([{ kind: 'batch', request, nonce: '', isServed: true, check }]),
    served: nonces,
  };
}

/** A stream that is listened on and left. */
function stream(gate: Gate, dice: Dice): HttpCase {
  const good = {
    ...goodCall('', gate.port, gate.token),
    method: 'GET',
    body: Buffer.alloc(0),
    framing: 'none' as const,
  };
  const listening = withSession(good, gate.sessions.latest, '2025-11-25');
  const request = dice.pick([
    { ...good, target: '/sse' },
    listening,
    withHeader(listening, 'Last-Event-ID', 'p999999-0'),
  ]);
  return {
    kind: 'stream',
    bytes: bytesOf(request),
    answers: undefined,
    check: () => {},
    served: [],
    refused: [],
  };
}

/** HTTP itself is broken: whatever comes, nothing may reach a server. */
function broken(gate: Gate, nonce: string, dice: Dice): HttpCase {
  const at = dice.between(0, breakers.length - 1);
  const bytes = breakers[at]?.(goodCall(nonce, gate.port, gate.token), dice) ?? Buffer.alloc(0);
  return {
    kind: `broken: ${at}`,
    bytes,
    answers: undefined,
    check: checkAnswer,
    served: [],
    refused: [nonce],
  };
}

function odd(gate: Gate, nonce: string, dice: Dice): HttpCase {
  const before = good(gate, nonce);
  return pipeline([{ ...before, kind: 'odd', request: dice.pick(oddities)(before.request) }]);
}

/** Bytes changed at random: the answers must be sound, and none of them a defect's. */
function changed(gate: Gate, nonce: string, dice: Dice): HttpCase {
  // A byte more or less must not make it the nonce of another.
  const own = `changed-${nonce}`;
  const request = dice.chance(0.5) ? good(gate, own).request : spoilt(gate, own, dice).request;
  const bytes = mutated(
    bytesOf(withHeader(request, 'Connection', 'close')),
    bytesOf(request),
    dice,
  );
  return {
    kind: 'changed',
    bytes,
    answers: undefined,
    check: checkAnswer,
    served: [],
    refused: [],
  };
}

/** Every answer of a case against what must be so. */
export function checkCase(one: HttpCase, answers: readonly HttpAnswer[], rest: Buffer): void {
  for (const [at, answer] of answers.entries()) {
    checkAnswer(answer);
    one.check(answer, at);
  }
  if (one.answers === undefined) return;
  agree(
    answers.length === one.answers,
    () => `${one.answers} requests have ${answers.length} answers`,
  );
  agree(rest.length === 0, () => `${rest.length} bytes are no answer: ${shortly(rest.toString())}`);
  agree(!answers.some(isOfParser), () => 'a request that is HTTP is refused as if it were not');
}
