// What pages in a browser, and those who stand between a browser and us, can send to a gateway of this machine, as
// bytes. Each tries to have the tool called that leaves a line in the ledger, or to read something. None may get
// further than the front door. `N` stands for the port.

import { modernRequest } from '../support/gateway-http-client.ts';

export interface PageRequest {
  readonly name: string;
  readonly method?: string;
  readonly target?: string;
  readonly version?: string;
  /** Instead of those of an ordinary call; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Written as they are, after the others. */
  readonly more?: readonly string[];
  /** Instead of the call. */
  readonly body?: string;
  /** Where it would be let through without a token: only a gateway that asks for tokens is asked. */
  readonly needsTokens?: boolean;
}

const evil = 'http://evil.example';
const call = modernRequest('tools/call', { name: 'seen__open_000', arguments: {} });
export const callText = JSON.stringify(call.body);
/** Of a program that may call, but for its token. */
export const callHeaders: Readonly<Record<string, string>> = call.headers;
/** The text of the call where a form or a query has it. */
const inForm = `payload=${encodeURIComponent(callText)}`;
const boundary = '----WebKitFormBoundary0';
const multipart = `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n${callText}\r\n--${boundary}--\r\n`;
const crossSite = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'empty' };
const eventSource = { accept: 'text/event-stream', 'cache-control': 'no-cache' };

const host = (name: string, value: string | undefined): PageRequest => ({
  name: `Host ${name}`,
  headers: { host: value },
});
const origin = (value: string): PageRequest => ({
  name: `Origin ${value}`,
  headers: { origin: value },
});
const simple = (name: string, type: string | undefined, body = callText): PageRequest => ({
  name: `a simple request: ${name}`,
  headers: { 'content-type': type },
  body,
});
/** What a browser asks before a request that is not simple. */
const preflight = (name: string, asked: Readonly<Record<string, string>>): PageRequest => ({
  name: `a preflight ${name}`,
  method: 'OPTIONS',
  headers: { origin: evil, 'content-type': undefined, ...asked },
  body: '',
});
const fetched = (site: string, target: string, method: string): PageRequest => ({
  name: `${method} ${target} without an Origin, Sec-Fetch-Site ${site}`,
  method,
  target,
  headers: { ...eventSource, 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' },
});

/** Names that a page's own name server answers with our address, and other spellings of it. */
const rebinding: readonly PageRequest[] = [
  host('of a page', 'evil.example'),
  host('of a page, with our port', 'evil.example:N'),
  host('below localhost', 'evil.localhost:N'),
  host('that begins as ours', 'localhost.evil.example:N'),
  host('that begins as our address', '127.0.0.1.evil.example:N'),
  host('of a public service that answers with it', '127.0.0.1.nip.io:N'),
  host('with a dot at its end', 'localhost.:N'),
  host('with a dot at the end of the address', '127.0.0.1.:N'),
  host('in capitals, of a page', 'EVIL.EXAMPLE:N'),
  host('as a number', '2130706433:N'),
  host('in octal', '0177.0.0.1:N'),
  host('in hexadecimal', '0x7f.0.0.1:N'),
  host('as one hexadecimal number', '0x7f000001:N'),
  host('as a short address', '127.1:N'),
  host('that is every address', '0.0.0.0:N'),
  host('that is another loopback address', '127.0.0.2:N'),
  host('mapped into IPv6', '[::ffff:127.0.0.1]:N'),
  host('mapped into IPv6, in hexadecimal', '[::ffff:7f00:1]:N'),
  host('that is every IPv6 address', '[::]:N'),
  host('in full IPv6', '[0:0:0:0:0:0:0:1]:N'),
  host('with a zone', '[::1%25lo]:N'),
  host('with a user', 'user@127.0.0.1:N'),
  host('with our name as the user', 'localhost@evil.example'),
  host('with a path', '127.0.0.1:N/mcp'),
  host('with two ports', '127.0.0.1:N:80'),
  host('with a list', '127.0.0.1:N, evil.example'),
  host('that is empty', ''),
  host('that is missing', undefined),
  { name: 'Host that is missing, HTTP/1.0', version: 'HTTP/1.0', headers: { host: undefined } },
  { name: 'Host given twice', more: ['Host: evil.example'] },
  { name: 'Host given twice, ours last', headers: { host: evil }, more: ['Host: 127.0.0.1:N'] },
  { name: 'Host forwarded', headers: { host: 'evil.example', 'x-forwarded-host': '127.0.0.1:N' } },
  { name: 'an absolute target, of a page', target: `${evil}/mcp` },
  { name: 'an absolute target with a user', target: 'http://localhost@evil.example/mcp' },
  {
    name: 'an absolute target, ours, for another Host',
    target: 'http://127.0.0.1:N/mcp',
    headers: { host: 'evil.example' },
  },
];

const origins: readonly PageRequest[] = [
  ...[evil, 'null', 'http://127.0.0.1', 'http://localhost:1'].map(origin),
  ...['http://localhost.evil.example:N', 'http://127.0.0.1:N.evil.example', 'file://'].map(origin),
  ...['http://user@127.0.0.1:N', 'http://127.0.0.1:N/', `http://127.0.0.1:N ${evil}`].map(origin),
  ...['chrome-extension://abc', 'http://[::ffff:127.0.0.1]:N', 'http://2130706433:N'].map(origin),
  {
    name: 'Origin given twice',
    headers: { origin: 'http://127.0.0.1:N' },
    more: [`Origin: ${evil}`],
  },
  {
    name: 'Origin of a page with a referrer of ours',
    headers: { origin: evil, referer: 'http://127.0.0.1:N/' },
  },
];

const simples: readonly PageRequest[] = [
  simple('text/plain', 'text/plain'),
  simple('text/plain with a charset', 'text/plain;charset=UTF-8'),
  simple('text/plain that names JSON', 'text/plain; application/json'),
  simple('a form', 'application/x-www-form-urlencoded', inForm),
  simple('a form with a file', `multipart/form-data; boundary=${boundary}`, multipart),
  simple('a form of plain text', 'text/plain', `{"a":"=",${callText.slice(1)}`),
  simple('no type', undefined),
  simple('an empty type', ''),
  simple('two types', 'application/json, text/plain'),
  simple('sendBeacon of a text', 'text/plain;charset=UTF-8'),
  {
    name: 'a report of the browser',
    headers: { origin: evil, 'content-type': 'application/reports+json' },
  },
  {
    name: 'a ping of a link',
    headers: {
      'content-type': 'text/ping',
      'ping-from': evil,
      'ping-to': 'http://127.0.0.1:N/mcp',
    },
    body: 'PING',
  },
  {
    name: 'sendBeacon of JSON',
    headers: { ...crossSite, origin: evil, 'sec-fetch-mode': 'no-cors' },
  },
];

const preflights: readonly PageRequest[] = [
  preflight('for POST', {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type,mcp-protocol-version',
  }),
  preflight('for an odd method', { 'access-control-request-method': 'SPAWN' }),
  preflight('for DELETE of a session', { 'access-control-request-method': 'DELETE' }),
  preflight('for our token', {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  }),
  preflight('for the private network', {
    'access-control-request-method': 'POST',
    'access-control-request-private-network': 'true',
  }),
  preflight('for the local network', {
    'access-control-request-method': 'POST',
    'access-control-request-local-network': 'true',
  }),
  preflight('of a page without an origin', {
    origin: 'null',
    'access-control-request-method': 'POST',
  }),
  { name: 'a preflight of everything', method: 'OPTIONS', target: '*', headers: { origin: evil } },
];

const loads: readonly PageRequest[] = [
  fetched('cross-site', '/sse', 'GET'),
  fetched('same-site', '/sse', 'GET'),
  fetched('cross-site', '/mcp', 'GET'),
  fetched('cross-site', '/healthz', 'GET'),
  fetched('same-site', '/readyz', 'HEAD'),
  fetched('cross-site', '/mcp', 'POST'),
  {
    name: 'a link that is followed to /sse',
    method: 'GET',
    target: '/sse',
    headers: { ...crossSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-user': '?1' },
  },
  { name: 'EventSource at /mcp', method: 'GET', headers: { ...eventSource, origin: evil } },
  {
    name: 'EventSource at /sse',
    method: 'GET',
    target: '/sse',
    headers: { ...eventSource, origin: evil },
  },
  {
    name: 'EventSource at /sse after a redirect',
    method: 'GET',
    target: '/sse',
    headers: { ...eventSource, origin: 'null', ...crossSite },
  },
  { name: 'a redirected POST', headers: { origin: 'null', ...crossSite } },
  {
    name: 'JSONP',
    method: 'GET',
    target: `/mcp?callback=f&${inForm}`,
    headers: { accept: '*/*', ...crossSite, 'sec-fetch-dest': 'script' },
  },
  {
    name: 'a WebSocket at /mcp',
    method: 'GET',
    headers: websocket(evil),
  },
  { name: 'a WebSocket at /sse', method: 'GET', target: '/sse', headers: websocket('null') },
  {
    name: 'GET that a header makes a POST',
    method: 'GET',
    headers: { 'x-http-method-override': 'POST', 'x-method-override': 'POST', ...crossSite },
  },
  {
    name: 'a POST that a header makes JSON',
    headers: { 'content-type': 'text/plain', 'x-content-type': 'application/json' },
  },
  {
    name: 'a POST that a query makes JSON',
    target: '/mcp?content-type=application/json',
    headers: { 'content-type': 'text/plain' },
  },
  { name: 'TRACE', method: 'TRACE' },
];

/** `T` stands for a token that would do. */
const credentials: readonly PageRequest[] = [
  { name: 'a token in the query', target: '/mcp?token=T&access_token=T', needsTokens: true },
  {
    name: 'a token in a cookie',
    headers: { cookie: 'token=T; authorization=Bearer T' },
    needsTokens: true,
  },
  {
    name: 'a token as a password of the address',
    headers: { authorization: 'Basic T' },
    needsTokens: true,
  },
  { name: 'a token with a wrong Origin', headers: { origin: evil, authorization: 'Bearer T' } },
  {
    name: 'a token with a wrong Host',
    headers: { host: 'evil.example:N', authorization: 'Bearer T' },
  },
  {
    name: 'a token and a simple type',
    headers: { authorization: 'Bearer T', 'content-type': 'text/plain' },
  },
  {
    name: 'a token without an Origin, cross-site',
    headers: { ...crossSite, authorization: 'Bearer T' },
  },
];

export const pageRequests: readonly PageRequest[] = [
  ...rebinding,
  ...origins,
  ...simples,
  ...preflights,
  ...loads,
  ...credentials,
];

function websocket(from: string): Readonly<Record<string, string>> {
  return {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    origin: from,
  };
}
