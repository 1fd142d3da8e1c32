// Questions in pairs: one kind names something that exists and is hidden from who asks, the other something of the same
// length that does not exist. Apart from the name there is no difference between them.

import { randomBytes } from 'node:crypto';
import type { Dice } from '../support/dice.ts';
import { modernRequest } from '../support/gateway-http-client.ts';
import { legacyHeaders } from '../support/http-front.ts';
import { things } from './world.ts';

export interface Question {
  readonly bytes: Buffer;
  /** What it names: the answer may repeat it. */
  readonly name: string;
}

export interface Pair {
  readonly what: string;
  readonly hidden: readonly Question[];
  readonly missing: readonly Question[];
}

interface Asker {
  readonly port: number;
  readonly token: string;
  /** Of a legacy client with the same token. */
  readonly session: string;
  /** Handles of tasks that are another client's. */
  readonly tasks: readonly string[];
}

/** As the names are made in world.ts. */
const numbers = Array.from({ length: things }, (_, at) => String(at).padStart(3, '0'));

export function pairsFor(asker: Asker, dice: Dice): readonly Pair[] {
  const pair = (
    what: string,
    names: readonly string[],
    question: (name: string) => Buffer,
    /** The name of something that does not exist, made from one of something that does. */
    other: (name: string) => string,
  ): Pair => ({
    what,
    hidden: names.map((name) => ({ name, bytes: question(name) })),
    missing: names.map(other).map((name) => ({ name, bytes: question(name) })),
  });
  const modern = (method: string, params: (name: string) => object) => (name: string) => {
    const { headers, body } = modernRequest(method, params(name) as { name?: string });
    return bytesOf(asker, '/mcp', headers, body);
  };
  const denied = numbers.map((number) => `seen__closed_${number}`);
  const unseen = numbers.map((number) => `unseen__open_${number}`);
  const named = (name: string) => ({ name, arguments: {} });
  const addressed = (uri: string) => ({ uri });
  const argument = { name: 'a', value: 'b' };
  const ofPrompt = (name: string) => ({ ref: { type: 'ref/prompt', name }, argument });
  const ofResource = (uri: string) => ({ ref: { type: 'ref/resource', uri }, argument });
  const uris = numbers.map((number) => `note://seen/closed_${number}`);
  const unseenUris = numbers.map((number) => `note://unseen/open_${number}`);
  const listed = modernRequest('tools/list');
  const path = (kind: 's' | 'r') => (name: string) =>
    bytesOf(asker, `/mcp/${kind}/${name}`, listed.headers, listed.body);
  const followed = (taskId: string) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId } };
    return bytesOf(asker, '/mcp', legacyHeaders(asker.session), body);
  };
  const madeUpIn = (part: string) => (name: string) => name.replace(part, madeUp(part, dice));
  const [tail, server] = [madeUpIn('closed'), madeUpIn('unseen')];
  // A text of the same length is not enough: most are no handle at all, as anybody can see.
  const handle = (name: string) =>
    randomBytes(Buffer.from(name, 'base64url').length).toString('base64url');
  const whole = (name: string) => madeUp(name, dice);
  return [
    pair('tools/call, of a server it sees', denied, modern('tools/call', named), tail),
    pair('tools/call, of another server', unseen, modern('tools/call', named), server),
    pair('prompts/get, of a server it sees', denied, modern('prompts/get', named), tail),
    pair('prompts/get, of another server', unseen, modern('prompts/get', named), server),
    pair('resources/read, of a server it sees', uris, modern('resources/read', addressed), tail),
    pair(
      'resources/read, of another server',
      unseenUris,
      modern('resources/read', addressed),
      server,
    ),
    pair(
      'completion/complete of a prompt',
      unseen,
      modern('completion/complete', ofPrompt),
      server,
    ),
    pair(
      'completion/complete of a resource',
      unseenUris,
      modern('completion/complete', ofResource),
      server,
    ),
    pair("tasks/get, another's", asker.tasks, followed, handle),
    pair('the path of a server', ['unseen'], path('s'), whole),
    pair('the path of a role', ['elsewhere'], path('r'), whole),
  ];
}

/** As many letters. */
function madeUp(text: string, dice: Dice): string {
  return text.replaceAll(/./g, () => String.fromCharCode(97 + dice.between(0, 25)));
}

function bytesOf(
  { port, token }: Asker,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: object,
): Buffer {
  const text = JSON.stringify(body);
  const all = { host: `127.0.0.1:${port}`, authorization: `Bearer ${token}`, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = Buffer.byteLength(text);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\n${lines.join('')}content-length: ${length}\r\n\r\n${text}`,
  );
}
