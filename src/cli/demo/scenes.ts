// The scenes of the demonstration: three things that happen to every set of MCP servers, and what a
// caller sees. Nothing is simulated: the servers are real processes that are killed while they
// work, and every claim is checked in the answers, in `status` and in the bank's own ledger.

import { existsSync, readFileSync } from 'node:fs';
import type { CallResult } from '../../host/call-result.ts';
import type { Host } from '../../host/host.ts';
import type { ServerStatus } from '../../host/status.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Narration } from './narration.ts';

export interface Stage {
  readonly host: Host;
  readonly narration: Narration;
  /** The file in which the bank records its deposits. */
  readonly ledger: string;
}

const callers = 25;

export async function oneStartForMany({ host, narration }: Stage): Promise<void> {
  narration.scene('One start for many callers');
  narration.tell(`${callers} callers call weather/forecast at the same time; it is not running.`);
  const calls = Array.from({ length: callers }, () =>
    host.call('weather', 'forecast', { city: 'Oslo' }),
  );
  const answers = await Promise.all(calls);
  const { generation, pid } = serverOf(host, 'weather');
  narration.fact(
    answers.every((answer) => textOf(answer).startsWith('Oslo')) && generation === 1,
    `${answers.length} answers from ${generation} process, pid ${pid}`,
  );
}

export async function readThatSurvives({ host, narration }: Stage): Promise<void> {
  narration.scene('A read survives a crash of its server');
  narration.tell(
    'weather/forecast only reads, and weather is trusted. It is killed while it works.',
  );
  const before = serverOf(host, 'weather').pid;
  const answer = await host.call(
    'weather',
    'forecast',
    { city: 'Lisbon' },
    { onProgress: killOnce(host, 'weather', narration) },
  );
  narration.fact(textOf(answer).startsWith('Lisbon'), `the caller gets: "${textOf(answer)}"`);
  const after = serverOf(host, 'weather').pid;
  narration.fact(
    after !== before && host.status().calls.replays === 1,
    `the call was repeated once, on a new process: pid ${after} after pid ${before}`,
  );
}

const amount = 100;

export async function writeThatTellsTheTruth(stage: Stage): Promise<void> {
  const { host, narration, ledger } = stage;
  narration.scene('A write is never repeated silently');
  narration.tell(`bank/deposit books ${amount}; its server is killed before it can answer.`);
  const fault = await faultOf(
    host.call('bank', 'deposit', { amount }, { onProgress: killOnce(host, 'bank', narration) }),
  );
  const { code = 'nothing', detail = '' } = fault?.record ?? {};
  narration.fact(code === 'outcome_unknown', `the caller gets: ${code}: ${detail}`);
  const booked = existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n') : [];
  narration.fact(
    booked.length === 1,
    `the bank's ledger: ${booked.length} deposit; repeating the call would make it 2`,
  );
  const balance = textOf(await host.call('bank', 'balance'));
  narration.fact(
    balance === String(amount),
    `the next call reaches the restarted bank: balance ${balance}`,
  );
}

/** Kills the server when it first reports progress, so that the call is certainly running. */
function killOnce(host: Host, server: string, narration: Narration): () => void {
  let isDone = false;
  return () => {
    const { pid } = serverOf(host, server);
    if (isDone || pid === null) return;
    isDone = true;
    narration.violence(pid);
    process.kill(pid, 'SIGKILL');
  };
}

function serverOf(host: Host, server: string): ServerStatus {
  const status = host.status().servers.find(({ name }) => name === server);
  if (status === undefined) throw new Error(`the demonstration has no server ${server}`);
  return status;
}

function textOf({ content }: CallResult): string {
  const [first] = content ?? [];
  return first?.type === 'text' ? first.text : '';
}

async function faultOf(call: Promise<unknown>): Promise<Fault | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}
