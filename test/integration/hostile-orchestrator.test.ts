// An orchestrator that answers `holdfast proxy` with what is no answer: the proxy's client gets a typed error each time,
// never an empty list and never nothing. The real broker and the real proxy; the orchestrator is played on a link of its own.

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Link } from '../../src/broker/contract.ts';
import { mailKinds } from '../../src/fleet/mail-kinds.ts';
import { BrokerProcess } from '../support/broker-process.ts';
import { mainProgram } from '../support/build.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { type Json, StdioClient } from '../support/gateway-stdio-client.ts';

let home: GatewayHome;
let broker: BrokerProcess;

beforeAll(async () => {
  home = await GatewayHome.create({ mcpServers: {} });
  broker = await BrokerProcess.start();
});

afterAll(async () => {
  await broker[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

const result = (id: unknown, more: object) => ({
  jsonrpc: '2.0',
  id,
  result: { resultType: 'complete', ...more },
});
const listed = { ttlMs: 0, cacheScope: 'private' };
const oneTool = [{ name: 'x', inputSchema: { type: 'object' } }];

/** What it answers, by method; undefined: nothing. */
type Played = (request: Json) => object | undefined;

function usual(request: Json): object | undefined {
  if (request.method === 'server/discover') {
    const serverInfo = { name: 'b', version: '1' };
    const supportedVersions = ['2026-07-28'];
    return result(request.id, {
      ...{ supportedVersions, capabilities: { tools: {} }, serverInfo },
      ...listed,
    });
  }
  if (request.method !== 'tools/list') return undefined;
  return result(request.id, { tools: oneTool, ...listed });
}

async function playOrchestrator(played: Played): Promise<Link> {
  const link = await broker.link('boss', 'seat');
  onTestFinished(() => link.close());
  await link.receive(mailKinds.request, (mail) => {
    mail.ack();
    const answer = played(JSON.parse(mail.body.toString()));
    if (answer === undefined) return;
    const { mailbox, seat } = mail.from;
    const body = Buffer.from(JSON.stringify(answer));
    const about = mail.about ?? mail.id;
    link.tell({ id: mail.id, to: mailbox, seat, kind: mailKinds.reply, about, body });
  });
  for (const kind of [mailKinds.cancel, mailKinds.pull]) await link.receive(kind, () => {}, true);
  return link;
}

async function proxy(): Promise<StdioClient> {
  const file = home.file('ann.secret');
  writeFileSync(file, broker.secretOf('ann'), { mode: 0o600 });
  const args = [mainProgram, 'proxy', '--broker', broker.url, '--to', 'boss'];
  const env = { ...home.env, HOLDFAST_TOKEN_FILE: file };
  const client = new StdioClient(spawn(process.execPath, args, { env }));
  onTestFinished(() => client[Symbol.asyncDispose]());
  await client.initialize();
  return client;
}

describe('a client of a worker', () => {
  it('gets the error of a list that its orchestrator does not give, and a line says it once #fleet', async () => {
    await playOrchestrator((request) =>
      request.method === 'tools/list'
        ? { jsonrpc: '2.0', id: request.id, error: { code: -32_603, message: 'no list today' } }
        : usual(request),
    );
    const client = await proxy();
    for (const id of [1, 2]) {
      const { error } = await client.ask('tools/list', {}, id);
      expect(error).toMatchObject({ data: { server: 'boss', code: 'rpc_error' } });
      expect(error.message).toContain('no list today');
    }
    const lines = (await client.end()).stderr.split('\n').filter((line) => line.includes('list'));
    expect(lines).toEqual([expect.stringContaining('boss has not given a list: ')]);
  });

  it.each([
    ['the id of another request', (id: unknown) => result(`${id}-other`, { content: [] })],
    ['a notification', () => ({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })],
  ])('gets a typed fault for a call that is answered with %s #fleet', async (_what, answerTo) => {
    await playOrchestrator((request) =>
      request.method === 'tools/call' ? answerTo(request.id) : usual(request),
    );
    const client = await proxy();
    await client.ask('tools/list', {}, 1);
    const answer = await client.ask('tools/call', { name: 'x', arguments: {} }, 2);
    expect(answer.result._meta['holdfast/fault']).toMatchObject({
      code: 'protocol_violation',
      dispatched: 'yes',
    });
  });
});
