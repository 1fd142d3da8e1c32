// Everything that a server can say, said to a host by a server that means harm or is out of its mind:
// documents of the scanner's, and notifications, questions and answers with any parameters, between the
// real host and the real gateway in the memory of this process. None of it may be a defect of ours, and
// both this server and its neighbour are served afterwards as ever.

import { Dice } from '../simulation/random.ts';
import { newGateway, settled } from '../support/fake-gateway.ts';
import { type Script, text, tool } from '../support/scripted-server.ts';
import { agree, shortly, wrongWith } from './disagreement.ts';
import { documentAt } from './documents.ts';
import type { Findings } from './findings.ts';
import { inheritedNames, inheritedTexts } from './inherited-names.ts';
import { JsonWriter } from './json-writer.ts';
import type { RoundsOptions } from './rounds.ts';
import type { Tally } from './tally.ts';

const methods: readonly [string, ...string[]] = [
  'notifications/progress',
  'notifications/cancelled',
  'notifications/message',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/subscriptions/acknowledged',
  'notifications/elicitation/complete',
  'notifications/tasks/status',
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
  'ping',
  ...inheritedNames,
  ...inheritedNames.map((name) => `notifications/${name}`),
];

const members: readonly [string, ...string[]] = [
  'progressToken',
  'progress',
  'requestId',
  'uri',
  'level',
  'data',
  'message',
  'mode',
  'taskId',
  'requestedSchema',
  '_meta',
  ...inheritedNames,
];

const values: readonly [string, ...string[]] = [
  '1',
  '2',
  '"1"',
  '{}',
  'null',
  '"skill://"',
  '"skill://index.json"',
  '"skill://a/SKILL.md"',
  '"skill://holdfast+strange/a/SKILL.md"',
  ...inheritedTexts,
];

const messagesPerRound = 60;
/** A document that is longer is for the scanner alone. */
const longest = 20_000;

/** Longer than any call waits before it is sent, and shorter than any of them may take. */
const longestWaitMs = 5_000;

/** Returns how many messages were said. */
export async function fuzzServers(
  { seed, seconds, signal }: RoundsOptions,
  findings: Findings,
  tally: Tally,
): Promise<number> {
  const endAt = Date.now() + 1_000 * seconds;
  let said = 0;
  for (let round = 0; Date.now() < endAt && !signal.aborted && !findings.isEnough; round += 1) {
    const says = await wrongWithRound(new Dice(seed, round), tally);
    said += messagesPerRound;
    if (says !== undefined) {
      findings.note(`servers: seed ${seed}, round ${round}: ${says}`);
      break;
    }
  }
  return said;
}

async function wrongWithRound(dice: Dice, tally: Tally): Promise<string | undefined> {
  const era = dice.pick(['legacy', 'modern'] as const);
  const script: Script = { era, tools: [tool('t')], on: { 'tools/call': () => text('done') } };
  const { host, servers, events, clock, legacy, modern } = newGateway({
    strange: script,
    good: script,
  });
  const client = legacy({ elicitation: {}, sampling: {}, roots: {} });
  client.request('tools/call', { name: 'strange__t' });
  await settled();
  for (let count = messagesPerRound; count > 0; count -= 1) {
    const bytes = someMessage(dice);
    try {
      servers.strange.child.sayBytes(bytes);
    } catch (error) {
      return `${error} was thrown at ${shortly(bytes.toString())}`;
    }
    if (dice.chance(0.2)) await settled();
  }
  await settled();
  await clock.advanceAsync(longestWaitMs);
  tally.count(`said by a ${era} server`, messagesPerRound);
  const calls = ['strange__t', 'good__t'].flatMap((name) => [
    client.request('tools/call', { name }),
    modern().call(name),
  ]);
  await settled();
  // A call may wait for what its server has asked its client before.
  await clock.advanceAsync(longestWaitMs);
  await settled();
  return wrongWith(() => {
    const defects = events.filter(({ kind }) => kind === 'defect');
    agree(defects.length === 0, () => `a defect of ours: ${shortly(JSON.stringify(defects))}`);
    const lost = events.filter(({ kind }) => kind === 'lost' || kind === 'start-failed');
    agree(lost.length === 0, () => `the server was lost: ${shortly(JSON.stringify(lost))}`);
    for (const call of calls) {
      const answer = call.answers.join();
      agree(answer.includes('"done"'), () => `a call ends in ${shortly(answer)}`);
    }
    agree(host.status().internalErrors === 0, () => 'internal errors are counted');
  });
}

function someMessage(dice: Dice): Buffer {
  if (dice.chance(0.4)) {
    const document = documentAt(dice.between(0, 2 ** 31), dice.between(0, 1_000_000));
    if (document.length < longest) return document;
  }
  const writer = new JsonWriter(dice);
  const method = dice.pick(methods);
  const isQuestion = !method.startsWith('notifications/') || dice.chance(0.1);
  const id = isQuestion && dice.chance(0.8) ? `"id":${dice.pick(values)},` : '';
  const params = new Map<string, string>();
  for (let count = dice.between(0, 4); count > 0; count -= 1) {
    params.set(dice.pick(members), dice.chance(0.6) ? dice.pick(values) : writer.value(3));
  }
  const inside = [...params].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join();
  const carrier = dice.chance(0.9) ? `{${inside}}` : writer.value(2);
  return Buffer.from(
    `{"jsonrpc":"2.0",${id}"method":${JSON.stringify(method)},"params":${carrier}}`,
  );
}
