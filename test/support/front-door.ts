// The front door alone, on a real socket, in front of a table of routes that a test makes up. An
// authenticator of the test answers when and how the test says.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type {
  Authentication,
  Authenticator,
  Credential,
} from '../../src/downstream/http/access/authenticator.ts';
import { HostCheck } from '../../src/downstream/http/access/host-check.ts';
import { FrontDoor } from '../../src/downstream/http/front-door.ts';
import { defaultLimits, type HttpLimits } from '../../src/downstream/http/http-limits.ts';
import { type HttpRoute, RouteTable } from '../../src/downstream/http/route-table.ts';
import { OutgoingBudget } from '../../src/downstream/outgoing/outgoing-budget.ts';
import { Deadlines } from '../../src/kernel/deadlines.ts';
import { Strangers } from '../../src/kernel/strangers.ts';
import { FakeFront } from './fake-front.ts';
import { ManualClock } from './manual-clock.ts';
import { until } from './until.ts';

/** One question to the authenticator. */
export interface Question {
  readonly credential: Credential;
  answer(found: Authentication): void;
  fail(error: unknown): void;
}

/** Answers later, each question by itself. */
export class LateAuthenticator implements Authenticator {
  readonly questions: Question[] = [];

  authenticate(credential: Credential): Promise<Authentication> {
    return new Promise((answer, fail) => {
      this.questions.push({ credential, answer, fail });
    });
  }

  /** The question of this number, once it is asked. */
  async question(number: number): Promise<Question> {
    await until(() => this.questions.length >= number, `question ${number} to the authenticator`);
    return this.questions[number - 1] as Question;
  }
}

export async function frontDoor(
  routes: readonly HttpRoute[],
  authenticator: Authenticator,
  changed: Partial<HttpLimits> = {},
) {
  const clock = new ManualClock();
  const front = new FakeFront();
  const reports: string[] = [];
  const report = (line: string) => void reports.push(line);
  const limits = { ...defaultLimits, ...changed };
  const deadlines = new Deadlines(clock);
  const outgoing = new OutgoingBudget(clock, report);
  const hosts = new HostCheck({ host: '127.0.0.1', allowedHosts: [], allowedOrigins: [] });
  const door = new FrontDoor({
    edge: { front, limits, clock, deadlines, outgoing, report, inform: report },
    strangers: new Strangers(limits.strangers),
    hosts,
    authenticator,
    routes: new RouteTable(routes),
  });
  const requests: { readonly req: IncomingMessage; readonly res: ServerResponse }[] = [];
  const server = createServer((req, res) => {
    requests.push({ req, res });
    door.handle(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { clock, front, reports, port, requests, dial: () => dial(port) };
}

/** A bare connection, and everything that comes over it. */
export function dial(port: number): Socket & { heard: string } {
  const socket = Object.assign(connect(port, '127.0.0.1'), { heard: '' });
  socket.on('data', (chunk) => {
    socket.heard += chunk;
  });
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}
