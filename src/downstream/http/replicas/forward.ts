// Passes a request on to another replica and its response back, unchanged but for what belongs to one connection. The
// other replica checks the credential itself. A client that disconnects ends the request there, as it would here. If
// the other replica is lost in the middle, the client is told that it is not known how far its request came.

import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import { Fault } from '../../../kernel/fault.ts';
import { errorFrame, type Frame, idText, resultFrame } from '../../../wire/frames.ts';
import type { Message } from '../../../wire/scan.ts';
import { faultError, faultResult } from '../../refusals.ts';
import { accept, answerJson, refuseHttp } from '../answers.ts';
import { listOf } from '../frame-bytes.ts';
import type { Edge } from '../http-context.ts';
import type { RequestContext } from '../route-table.ts';
import { type Carried, requestsIn } from './carried.ts';

/** A request that is for another replica by now; nothing was done with it. */
export const movedStatus = 421;
const movedHeader = 'holdfast-moved';

/** For whoever has passed on a request that is not for us. */
export function refuseMoved(res: ServerResponse): void {
  refuseHttp(res, movedStatus, 'Misdirected Request: another replica has it now', [
    movedHeader,
    'yes',
  ]);
}

/** On a request for what is left of a session at the replica that had it; only another replica may say so. */
export const formerHeader = 'holdfast-former';

/** Of one connection, and not of the message; and what Node writes itself. */
const ofConnection: ReadonlySet<string> = new Set([
  formerHeader,
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export interface Forwarded {
  readonly context: RequestContext;
  readonly carried: Carried;
  readonly isModern: boolean;
  readonly edge: Edge;
  /** Names and values in turns, beside its own headers. */
  readonly more?: readonly string[];
}

/** Resolves when the response has begun, or nothing can be sent any more; `moved`: nothing was answered. */
export function forward(connection: Duplex, forwarded: Forwarded): Promise<'answered' | 'moved'> {
  const { context, more = [] } = forwarded;
  const { req, res, body, url } = context;
  // Its client is gone, or the connection is.
  if (res.closed) connection.destroy();
  if (res.closed) return Promise.resolve('answered');
  if (connection.destroyed) return Promise.resolve('moved');
  return new Promise((resolve, reject) => {
    const asked = request({
      ...(req.method === undefined ? {} : { method: req.method }),
      path: url,
      setHost: false,
      // As a list: what comes more than once goes on as often.
      headers: [
        ...headersOf(req.rawHeaders),
        'Connection',
        'close',
        ...lengthOf(req, body),
        ...more,
      ],
      createConnection: () => connection,
    });
    const gone = () => void asked.destroy();
    res.once('close', gone);
    asked.once('response', (answer) => {
      if (isMoved(answer)) {
        res.off('close', gone);
        asked.destroy();
        return resolve('moved');
      }
      relay(answer, res);
      resolve('answered');
    });
    asked.once('error', () => {
      try {
        if (!res.headersSent) answerLost(forwarded);
        resolve('answered');
      } catch (error) {
        reject(error);
      }
    });
    asked.end(body);
  });
}

function isMoved({ statusCode, headers }: IncomingMessage): boolean {
  return statusCode === movedStatus && headers[movedHeader] !== undefined;
}

function relay(answer: IncomingMessage, res: ServerResponse): void {
  if (res.closed) return void answer.destroy();
  const { statusCode = 502, rawHeaders } = answer;
  const length = answer.headers['content-length'];
  const more = length === undefined ? [] : ['Content-Length', length];
  res.writeHead(statusCode, [...headersOf(rawHeaders), ...more]);
  res.flushHeaders();
  // A response that breaks off breaks off for the client as well.
  pipeline(answer, res, (error) => {
    if (error) res.destroy();
  });
}

/** Names and values in turns, without those of the connection, and without what its own header names so. */
function headersOf(raw: readonly string[]): readonly string[] {
  const named = new Set<string>();
  const kept: string[] = [];
  for (const [name, value] of pairsOf(raw)) {
    if (name.toLowerCase() !== 'connection') continue;
    for (const word of value.split(',')) named.add(word.trim().toLowerCase());
  }
  for (const [name, value] of pairsOf(raw)) {
    const lower = name.toLowerCase();
    if (!ofConnection.has(lower) && !named.has(lower)) kept.push(name, value);
  }
  return kept;
}

function* pairsOf(raw: readonly string[]): Generator<readonly [string, string]> {
  for (let at = 0; at + 1 < raw.length; at += 2) yield [raw[at] ?? '', raw[at + 1] ?? ''];
}

function lengthOf({ method }: IncomingMessage, body: Buffer): readonly string[] {
  return body.length > 0 || method === 'POST' ? ['Content-Length', String(body.length)] : [];
}

/** It may have reached the other replica, and a server behind it. */
function answerLost(forwarded: Forwarded): void {
  const { context, carried, edge } = forwarded;
  const { res } = context;
  if (res.closed) return;
  const frames = requestsIn(carried).map((message) => lostFrame(message, forwarded));
  const [first] = frames;
  // An answer or a notification has no answer of its own: what it was about is lost with that replica, and said there.
  if (first === undefined && carried.messages.length > 0) return accept(res);
  if (first === undefined) return refuseHttp(res, 502, lostWords);
  answerJson(res, 200, carried.isBatch ? listOf(frames) : first, edge);
}

function lostFrame(message: Message, { context, isModern }: Forwarded): Frame {
  const { principal } = context;
  const id = idText(message);
  const fault = new Fault('outcome_unknown', lostWords, { dispatched: 'maybe' });
  return message.method === 'tools/call'
    ? resultFrame(id, faultResult(fault, { isModern, principal }))
    : errorFrame(id, faultError(fault, principal));
}

const lostWords =
  'the replica that worked on this request is lost, so it is not known what came of it; check before you repeat it';
