// Standard input of `serve --stdio`: documents of the scanner's, line after line, in any chunks. Each
// line that is refused is answered with its code and id, each request with one answer, everything else
// with nothing; every line that comes back is one message; and between them an ordinary request is
// answered as ever.

import { oneLine } from '../../src/wire/splice.ts';
import { Dice } from '../simulation/random.ts';
import type { StdioClient, StdioEnd } from '../support/gateway-stdio-client.ts';
import { until } from '../support/until.ts';
import { chunksOf } from './chunks.ts';
import { agree, shortly, wrongWith } from './disagreement.ts';
import { documentAt } from './documents.ts';
import type { Findings } from './findings.ts';
import { GatewayFolder } from './fuzzed-gateway.ts';
import type { HttpOptions } from './http.ts';
import { answerableId, listedRefusals, messageRefusals } from './listed-refusals.ts';
import type { Tally } from './tally.ts';
import { judged } from './token-tree.ts';

const frameBytes = 16_777_216;
const linesPerRound = 40;
/** Documents that are this long are for the scanner alone: a pipe takes its time. */
const longestLine = 20_000;

/** Returns how many lines were sent. */
export async function fuzzStdio(
  { build, seed, seconds, signal }: HttpOptions,
  findings: Findings,
  tally: Tally,
): Promise<number> {
  using folder = new GatewayFolder(build, 'none');
  const client = await greeted(folder);
  const endAt = Date.now() + 1_000 * seconds;
  let sent = 0;
  for (let round = 0; Date.now() < endAt && !signal.aborted && !findings.isEnough; round += 1) {
    const dice = new Dice(seed, round);
    const input = someLines(dice);
    const says = await wrongWithRound(client, input, round, tally);
    sent += linesPerRound;
    if (says !== undefined) {
      findings.add('stdio', `seed ${seed}, round ${round}`, says, input);
      break;
    }
  }
  await checkOversized(client, findings);
  await farewell(client, folder, findings);
  return sent;
}

/** Some lines from a file, alone; what is wrong with the answers. */
export async function replayStdio(
  build: string,
  input: Buffer,
  tally: Tally,
): Promise<string | undefined> {
  using folder = new GatewayFolder(build, 'none');
  const client = await greeted(folder);
  const says = await wrongWithRound(client, input, 0, tally);
  const { code, stderr } = await leaving(client);
  return says ?? (code === 0 && stderr === '' ? undefined : `it ended with ${code}: ${stderr}`);
}

async function greeted(folder: GatewayFolder): Promise<StdioClient> {
  const client = folder.onPipes();
  await client.initialize();
  return client;
}

/** The end of the input is the end of the gateway; one that does not go is killed. */
async function leaving(client: StdioClient): Promise<StdioEnd> {
  await client[Symbol.asyncDispose]();
  return await client.ended;
}

async function farewell(
  client: StdioClient,
  folder: GatewayFolder,
  findings: Findings,
): Promise<void> {
  const { code, stderr } = await leaving(client);
  if (code !== 0) findings.note(`stdio: the gateway ended with ${code}`);
  if (stderr !== '') findings.note(`stdio: the gateway complains: ${shortly(stderr)}`);
  if (folder.starts > 1) findings.note(`stdio: the server was started ${folder.starts} times`);
}

function someLines(dice: Dice): Buffer {
  const lines: Buffer[] = [];
  while (lines.length < linesPerRound) {
    const document = documentAt(dice.between(0, 2 ** 31), dice.between(0, 1_000_000));
    // A cancellation takes an answer away that is due, or does not: nothing could be counted.
    if (document.length > longestLine || document.includes('cancelled')) continue;
    const line = dice.chance(0.9) ? oneLine(document) : document;
    lines.push(Buffer.concat([line, Buffer.from('\n')]));
  }
  return Buffer.concat(lines);
}

/** What a line must be answered with. */
type Due =
  | { readonly kind: 'refusal'; readonly code: number; readonly id: number | string | null }
  | { readonly kind: 'answer' | 'nothing' };

function dueFor(line: Buffer): Due {
  const oracle = judged(line);
  if (oracle.kind !== 'json') return { kind: 'refusal', code: -32_700, id: null };
  const reasons = messageRefusals(oracle);
  const [reason] = reasons;
  if (reason !== undefined) {
    const { rpcCode } = listedRefusals[reason];
    const hasId = !reasons.includes('too-deep') && !reasons.includes('bad-id');
    return { kind: 'refusal', code: rpcCode, id: hasId ? answerableId(oracle.root) : null };
  }
  const { method, id } = oracle.value as { method?: string; id?: unknown };
  return { kind: method !== undefined && id !== undefined ? 'answer' : 'nothing' };
}

async function wrongWithRound(
  client: StdioClient,
  input: Buffer,
  round: number,
  tally: Tally,
): Promise<string | undefined> {
  const lines = input
    .toString('latin1')
    .split('\n')
    .filter((line) => !/^[ \t\r]*$/.test(line));
  const due = lines.map((line) => dueFor(Buffer.from(line, 'latin1')));
  for (const { kind } of due) tally.count(`due: ${kind}`);
  const from = client.lines.length;
  for (const chunk of chunksOf(input, new Dice(round))) client.write(chunk);
  client.write('\n');
  const canary = `canary-${round}`;
  client.send({ jsonrpc: '2.0', id: canary, method: 'ping' });
  try {
    await client.answer(canary, from);
    const count = due.filter(({ kind }) => kind !== 'nothing').length;
    await until(() => answersFrom(client, from).length > count, 'all answers', 10_000);
    return wrongWith(() => checkRound(answersFrom(client, from), due, count, canary));
  } catch (error) {
    const answers = answersFrom(client, from).length - 1;
    return `${error instanceof Error ? error.message : error}; ${answers} answers to ${lines.length} lines`;
  }
}

/** The largest frame there may be, and one byte more: refused, and the next line is right again. */
async function checkOversized(client: StdioClient, findings: Findings): Promise<void> {
  const from = client.lines.length;
  client.write(Buffer.alloc(frameBytes + 1, ' x'));
  client.write('\n');
  client.send({ jsonrpc: '2.0', id: 'afterwards', method: 'ping' });
  await client.answer('afterwards', from);
  const codes = answersFrom(client, from).map(({ error }) => error?.code);
  if (codes.join() !== '-32600,') findings.note(`stdio: a line beyond the limit: ${codes.join()}`);
}

interface Answer {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly error?: { readonly code: number };
}

/** What has come since and is no word of the server's own. */
function answersFrom(client: StdioClient, from: number): Answer[] {
  const messages = client.lines.slice(from).map((line) => JSON.parse(line) as Answer);
  return messages.filter(({ method }) => method === undefined);
}

function checkRound(
  answers: readonly Answer[],
  due: readonly Due[],
  count: number,
  canary: string,
): void {
  const others = answers.filter(({ id }) => id !== canary);
  agree(others.length === count, () => `${others.length} answers where ${count} are due`);
  const open = new Map<string, number>();
  for (const { id = null, error } of others) {
    const key = JSON.stringify([error?.code, id]);
    open.set(key, (open.get(key) ?? 0) + 1);
  }
  for (const one of due) {
    if (one.kind !== 'refusal') continue;
    const key = JSON.stringify([one.code, one.id]);
    const left = open.get(key) ?? 0;
    agree(left > 0, () => `no refusal ${key} has come`);
    open.set(key, left - 1);
  }
}
