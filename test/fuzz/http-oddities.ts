// Requests that are strange but legal: what is right about them decides, and they are served.

import { type HttpRequest, withBody, withHeader } from './http-request.ts';

type Oddity = (request: HttpRequest) => HttpRequest;

const also =
  (name: string, value: string): Oddity =>
  (request) => ({ ...request, headers: [...request.headers, [name, value]] });

export const oddities: readonly [Oddity, ...Oddity[]] = [
  (request) => ({ ...request, target: '/mcp?x=1' }),
  (request) => ({ ...request, framing: 'chunked' }),
  also('Expect', '100-continue'),
  also('Upgrade', 'h2c'),
  also('X-Forwarded-Host', 'evil.example'),
  also('X-HTTP-Method-Override', 'DELETE'),
  also('Cookie', 'a=b'),
  also('Mcp-Session-Id', 'none'),
  also('Last-Event-ID', 'x'),
  also('Te', 'trailers'),
  (request) => withHeader(request, 'Content-Type', 'Application/JSON; charset=utf-8'),
  (request) => withHeader(request, 'Accept', undefined),
  (request) => withHeader(request, 'Accept', 'application/json'),
  (request) => withHeader(request, 'Host', 'LOCALHOST'),
  (request) => withHeader(request, 'Mcp-Name', '=?base64?ZmlsZXNfX2VjaG8=?='),
  (request) => withBody(request, `\r\n\t ${request.body.toString()}\n`),
];
