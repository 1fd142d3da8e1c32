// The cells that cannot be, and why: a closed list. A feature is here only if the specification takes
// it away from one of the eras, and then with its sentence. Whatever has another form in the other
// era (questions, progress, cancellation, logging, subscriptions) is not impossible: it is bridged.

import type { Era } from '../../../src/wire/eras.ts';

export interface Impossible {
  /** The feature's name. */
  readonly feature: string;
  /** Which eras of client and server cannot have it between them. */
  readonly between: readonly (readonly [client: Era, server: Era])[];
  readonly sentence: string;
  readonly source: string;
}

const spec = 'https://modelcontextprotocol.io/specification/2026-07-28';

const whereEitherIsModern = [
  ['modern', 'modern'],
  ['modern', 'legacy'],
  ['legacy', 'modern'],
] as const;

const whereEitherIsLegacy = [
  ['legacy', 'legacy'],
  ['legacy', 'modern'],
  ['modern', 'legacy'],
] as const;

const tasks = {
  between: whereEitherIsLegacy,
  sentence:
    'A server MUST NOT return CreateTaskResult to a client that did not include the extension capability on its request, regardless of prior declarations.',
  source:
    'https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/2026-07-28/tasks.md',
};

/** The modern era has no such capability to declare, and no such methods. */
const sessionTasks = {
  between: whereEitherIsModern,
  sentence:
    "If a server's capabilities do not include `tasks.requests.tools.call`, then clients MUST NOT attempt to use task augmentation on that server's tools, regardless of the `execution.taskSupport` value.",
  source: 'https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks',
};

export const impossible: readonly Impossible[] = [
  { feature: 'asks for a task, answers its question and fetches its result', ...sessionTasks },
  { feature: 'lists its tasks, cancels one, and is told when there is none', ...sessionTasks },
  {
    feature: 'gets the result of a tool that its server runs as a task, and answers its question',
    ...tasks,
    between: [['modern', 'modern']],
  },
  { feature: 'follows a task to its end', ...tasks },
  { feature: 'cancels a task, and is told when there is none', ...tasks },
  {
    feature: 'gets structured content that is not an object, as far as its era allows',
    between: [
      ['legacy', 'legacy'],
      ['modern', 'legacy'],
    ],
    sentence:
      'Structured content is returned as a JSON object in the `structuredContent` field of a result.',
    source: 'https://modelcontextprotocol.io/specification/2025-11-25/server/tools',
  },
  {
    feature: 'tells the server that its roots have changed',
    between: whereEitherIsModern,
    sentence: 'Remove `ping`, `logging/setLevel`, and `notifications/roots/list_changed`.',
    source: `${spec}/changelog`,
  },
  {
    feature: 'hears that an elicitation was finished elsewhere',
    between: whereEitherIsModern,
    sentence:
      'Remove the `notifications/elicitation/complete` notification and the `elicitationId` field of URL mode elicitation requests, both introduced in `2025-11-25`.',
    source: `${spec}/changelog`,
  },
  {
    feature: 'is refused until a page was visited, visits it and calls again',
    between: [
      ['modern', 'modern'],
      ['legacy', 'modern'],
    ],
    sentence:
      'Implementations of this protocol version MUST NOT emit these codes: […] `-32042` — URL elicitation required (2025-11-25 only).',
    source: `${spec}/basic#error-codes`,
  },
  {
    feature: 'answers a request that MCP does not define',
    between: whereEitherIsModern,
    sentence:
      '`inputRequests` values are request objects that MUST be one of `ElicitRequest`, `CreateMessageRequest`, or `ListRootsRequest`.',
    source: `${spec}/basic/patterns/mrtr`,
  },
];

/** May never be on the list, whatever happens. */
export const neverImpossible = /progress|asked|form|visit a page|answer sent twice|forges/;

export function isImpossible(feature: string, client: Era, server: Era): boolean {
  return impossible.some(
    (one) =>
      one.feature === feature && one.between.some(([from, to]) => from === client && to === server),
  );
}
