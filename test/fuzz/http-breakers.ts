// The ways to break HTTP itself, in the request line, the headers, the lengths and the chunks. What is
// answered then is for the parser of HTTP to say; but nothing may reach a server.

import type { Dice } from '../simulation/random.ts';
import { bytesOf, type HttpRequest, withHeader } from './http-request.ts';

/** Makes bytes of a request that no parser of HTTP may take as they stand. */
export type Breaker = (request: HttpRequest, dice: Dice) => Buffer;

const withLine =
  (line: string): Breaker =>
  (request) => {
    const bytes = bytesOf(request).toString('latin1');
    return Buffer.from(bytes.replace('\r\n', `\r\n${line}\r\n`), 'latin1');
  };

const withChunks =
  (chunks: (body: Buffer) => string): Breaker =>
  (request) => {
    const head = bytesOf({ ...request, framing: 'chunked', body: Buffer.alloc(0) });
    const headOnly = head.subarray(0, head.indexOf('\r\n\r\n') + 4);
    return Buffer.concat([headOnly, Buffer.from(chunks(request.body), 'latin1')]);
  };

const hex = (body: Buffer) => body.length.toString(16);
const raw = (body: Buffer) => body.toString('latin1');

export const breakers: readonly [Breaker, ...Breaker[]] = [
  withLine('Transfer-Encoding: chunked'),
  withLine('Transfer-Encoding: gzip, chunked'),
  withLine('Transfer-Encoding: chunked, identity'),
  withLine('Content-Length: 5'),
  withLine('Content-Length: -1'),
  withLine('Content-Length: +10'),
  withLine('Content-Length: 1e3'),
  withLine('Content-Length: 0x10'),
  withLine('Content-Length : 10'),
  withLine('X Y: 1'),
  withLine('X\0: 1'),
  withLine('X: \0'),
  withLine(': 1'),
  withLine('no colon at all'),
  withLine(`X: ${'a'.repeat(40_000)}`),
  withLine(Array.from({ length: 5_000 }, (_, at) => `X${at}: 1`).join('\r\n')),
  withChunks((body) => `${hex(body)}\r\n${raw(body)}0\r\n\r\n`),
  withChunks((body) => `-${hex(body)}\r\n${raw(body)}\r\n0\r\n\r\n`),
  withChunks((body) => `0x${hex(body)}\r\n${raw(body)}\r\n0\r\n\r\n`),
  withChunks((body) => `${hex(body)} \r\n${raw(body)}\r\n0\r\n\r\n`),
  withChunks((body) => `g\r\n${raw(body)}\r\n0\r\n\r\n`),
  withChunks((body) => `fffffffffffffffff\r\n${raw(body)}\r\n0\r\n\r\n`),
  withChunks((body) => `${(body.length - 1).toString(16)}\r\n${raw(body)}\r\n0\r\n\r\n`),
  withChunks((body) => `${(body.length + 1).toString(16)}\r\n${raw(body)}\r\n0\r\n\r\n`),
  withChunks((body) => `${hex(body)}\n${raw(body)}\n0\n\n`),
  withChunks((body) => `${hex(body)};a\0b\r\n${raw(body)}\r\n0\r\n\r\n`),
  (request) => bytesOf({ ...request, version: 'HTTP/1.2' }),
  (request) => bytesOf({ ...request, version: 'http/1.1' }),
  (request) => bytesOf({ ...request, version: 'ICE/1.0' }),
  (request) => bytesOf({ ...request, method: 'post' }),
  (request) => bytesOf({ ...request, method: 'P\0ST' }),
  (request) => bytesOf({ ...request, target: '/mcp /mcp' }),
  (request) => bytesOf({ ...request, target: '/m\0cp' }),
  (request) => bytesOf({ ...request, target: '' }),
  (request) => bytesOf(withHeader(request, 'Host', undefined)),
  (request) => Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), bytesOf(request)]),
  (request) => Buffer.concat([Buffer.from([0x16, 3, 1, 2, 0, 1, 0]), bytesOf(request)]),
  (request, dice) => bytesOf(request).subarray(0, -dice.between(1, request.body.length)),
];
