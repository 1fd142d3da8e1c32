// Requests that want something started (attempts.ts), at every route and method of the built gateway: without a token, with
// a wrong one, with a role that may use little, one that may use everything, and as the local user. No program may
// be run that the config does not name, nobody may connect to an address from a request, and afterwards the gateway
// has to serve as ever.

import { Agent, type IncomingMessage, request } from 'node:http';
import { exactly, type Figure, fact } from '../proof/report.ts';
import { residentMb } from '../slow-clients/world.ts';
import { Dice } from '../support/dice.ts';
import type { AskOptions } from '../support/http-front.ts';
import { attempt } from './attempts.ts';
import { Canary } from './canary.ts';
import { Senders } from './senders.ts';
import { WatchedGateway } from './watched-gateway.ts';
import { World } from './world.ts';

export interface StartsOptions {
  readonly requests: number;
  readonly seed: string;
  readonly progress: (text: string) => void;
}

/** Requests under way at a time. */
const lanes = 8;
/** A stream that answers a message is read for so long. */
const streamMs = 50;
const reportEvery = 10_000;

interface Heard {
  readonly status: number;
  readonly text: string;
  readonly session: string | undefined;
}

export async function starts({ requests, seed, progress }: StartsOptions) {
  const findings: string[] = [];
  const say = (words: string) => void findings.push(`[starts] ${words}`);
  await using world = await World.create({ auth: 'token', audit: 'on' });
  await using canary = await Canary.create((name) => world.home.file(name));
  await using gateway = await WatchedGateway.start(world.home);
  await world.warm(gateway);
  gateway.settle();
  const tally = new Map<string, number>(); // at most one entry for each status
  const agent = new Agent({ keepAlive: true, maxSockets: lanes });
  const port = Number(new URL(gateway.url).port);
  let sent = 0;
  let results = 0;
  let memoryMb = 0;
  const shoot = async (senders: Senders, number: number) => {
    const dice = new Dice(`${seed}, starts, ${number}`);
    const sender = senders.one(dice);
    const asked = attempt(sender, canary, dice);
    const { status, text, session } = await ask(asked, port, agent);
    tally.set(`answers ${status}`, (tally.get(`answers ${status}`) ?? 0) + 1);
    if (text.includes('"result":')) results += 1;
    if (isDefect(status, text))
      say(`request ${number}, seed ${seed}: ${status} ${text.slice(0, 300)}`);
    if (session !== undefined) await senders.close(sender, session);
    if (sender.session !== undefined && status === 404) await senders.renew(sender);
  };
  {
    await using senders = await Senders.open(world, gateway.url);
    const lane = async () => {
      while (sent < requests && findings.length < 10) {
        sent += 1;
        const number = sent;
        await shoot(senders, number);
        // The first thousand make it grow to its working size.
        if (number === Math.min(1_000, requests)) memoryMb = residentMb(gateway.pid);
        if (number % reportEvery === 0) progress(`${number} requests`);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
  }
  agent.destroy();
  const grownMb = residentMb(gateway.pid) - memoryMb;
  using client = world.client(gateway, 'all');
  const { status, json } = await client.modern('tools/call', {
    name: 'seen__open_000',
    arguments: {},
  });
  if (json?.result?.content?.[0]?.text !== 'open_000')
    say(`an ordinary call is answered with ${status}`);
  const { code } = await gateway.stop();
  if (code !== 0) say(`the gateway ended with ${code}: ${gateway.complaints}`);
  const { strangers } = gateway;
  for (const one of strangers.slice(0, 3)) say(`a program was started: ${one.slice(0, 500)}`);
  for (const one of canary.runs.slice(0, 3)) say(`the canary was run: ${one}`);
  if (canary.visits > 0) say(`the address of a request was connected to ${canary.visits} times`);
  const figures: Figure[] = [
    fact('seed', seed),
    fact('requests that want something started', sent),
    ...[...tally].sort().map(([name, count]) => fact(name, count)),
    fact('of them with the result of a method', results),
    fact('programs watched by strace', gateway.blindness ?? gateway.starts),
    exactly('programs started that the config does not name', strangers.length, 0),
    exactly('canaries that were run', canary.runs.length, 0),
    exactly('connections to addresses in requests', canary.visits, 0),
    fact('memory of the gateway after the first thousand, MiB', memoryMb),
    fact('memory of the gateway at the end, MiB more', grownMb),
  ];
  return { figures, findings };
}

/** An internal error is none of the answers that a request may have. */
function isDefect(status: number, text: string): boolean {
  return (status >= 500 && status !== 503) || text.includes('-32603,"message":"Internal error');
}

/** The answer; of a stream, what comes first. */
function ask(
  { method, path, headers, body }: AskOptions,
  port: number,
  agent: Agent,
): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const bytes = body === undefined ? undefined : JSON.stringify(body);
    const length = bytes === undefined ? {} : { 'content-length': Buffer.byteLength(bytes) };
    const sent = request({
      ...{ port, host: '127.0.0.1', agent, method, path },
      headers: { ...headers, ...length },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      readAll(response, method === 'POST', (text) => {
        const session = response.headers['mcp-session-id'];
        const isNew = typeof session === 'string' && session !== headers?.['mcp-session-id'];
        resolve({ status: response.statusCode ?? 0, text, session: isNew ? session : undefined });
      });
    });
    sent.end(bytes);
  });
}

/** A stream that was asked for stays open, and is not read. */
function readAll(response: IncomingMessage, isAnswer: boolean, done: (text: string) => void): void {
  let text = '';
  const isStream = response.headers['content-type'] === 'text/event-stream';
  const late = isStream && isAnswer ? AbortSignal.timeout(streamMs) : undefined;
  late?.addEventListener('abort', () => response.destroy());
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (isStream && text.includes('data: ')) response.destroy();
  });
  response.on('error', () => {});
  response.on('close', () => done(text));
  if (isStream && !isAnswer) response.destroy();
}
