// The few facts of the run that neither a history nor a ledger can tell: which servers there were, how
// many calls each may carry, which of their tools are safe to repeat, and what a pipe holds. A fact
// that is missing is a gap in the evidence; nothing is assumed in its place.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type JsonObject } from './json-lines.ts';
import type { Verdict } from './verdict.ts';

export interface ServerFacts {
  readonly name: string;
  readonly transport: 'stdio' | 'http';
  readonly concurrency: number;
  readonly safeTools: ReadonlySet<string>;
  readonly tools: ReadonlySet<string>;
  /** Their results may be kept, and given again without asking the server. */
  readonly keptTools: ReadonlySet<string>;
  /** They answer with the roots that the server was told. */
  readonly rootsTools: ReadonlySet<string>;
  /** May it answer a status that proves that nothing was read (401, 429, ...)? */
  readonly turnsAway: boolean;
  /** May it have several processes at a time, for clients of several eras and classes? */
  readonly hasSeveral: boolean;
  /** Is it behind an instance that ends and is followed by another, which counts generations anew? */
  readonly hasInstances: boolean;
  /** The file that says when what serves it was ended; undefined: that is not ended, or with its clients. */
  readonly ends: string | undefined;
  /** What is named where the server itself cannot be reached: the orchestrator that it is behind. */
  readonly reachedBy: string | undefined;
  /** Tools that may be hidden, or gone with their server, when they are called. */
  readonly mayBeUnknown: ReadonlySet<string>;
  /** Nobody does any harm to it, so that its calls fail only with what serves it. */
  readonly isSpared: boolean;
  /** Nothing happens to it, so that no call fails and its process stays while it is in use. */
  readonly isSteady: boolean;
}

export interface Facts {
  readonly servers: ReadonlyMap<string, ServerFacts>;
  readonly pipeBytes: number;
  /** Are gateways rolled over? */
  readonly hasRollouts: boolean;
  /** The files of the ends of gateways over HTTP, by the names of these. */
  readonly endsOf: ReadonlyMap<string, string>;
  /** What principals may spend, by the name of their token. */
  readonly budgets: ReadonlyMap<string, Budget>;
  /** The time of day minus the clock of the histories. */
  readonly wallOffsetMs: number;
  /** The gateway process that a client talks to; generations are counted in each of its own. */
  readonly gatewayOf: (client: string) => string;
}

/** So many calls in all; a kill of the gateway may lose a block of them. */
export interface Budget {
  readonly calls: number;
  readonly block: number;
  /** The file that says when its gateway was killed. */
  readonly ends: string;
}

/** Undefined when there is nothing that could be judged with. */
export function readFacts(directory: string, verdict: Verdict): Facts | undefined {
  const whole = parsed(join(directory, 'facts.json'), verdict);
  if (whole === undefined) return undefined;
  const { servers, pipeBytes, clients, wallOffsetMs, hasRollouts, budgets, gateways } = whole;
  if (!Array.isArray(servers) || servers.length === 0 || !isCount(pipeBytes)) {
    verdict.violates('evidence', 'facts.json has no servers, or no pipeBytes');
    return undefined;
  }
  const known = servers.map((server) => serverFacts(server, verdict));
  return {
    servers: new Map(known.flatMap((server) => (server ? [[server.name, server]] : []))),
    pipeBytes,
    hasRollouts: hasRollouts === true,
    budgets: budgetsIn(budgets),
    endsOf: new Map(
      Object.entries(isObject(gateways) ? gateways : {}).map(([name, file]) => [
        name,
        String(file),
      ]),
    ),
    wallOffsetMs: Number(wallOffsetMs ?? 0),
    gatewayOf: (client) => gatewayOf(clients, client),
  };
}

function parsed(file: string, verdict: Verdict): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (isObject(value)) return value;
    verdict.violates('evidence', 'facts.json is not an object');
  } catch (error) {
    verdict.violates('evidence', `facts.json cannot be read: ${(error as Error).message}`);
  }
  return undefined;
}

function serverFacts(value: unknown, verdict: Verdict): ServerFacts | undefined {
  const { name, transport, concurrency, tools, ...rest } = isObject(value) ? value : {};
  const { turnsAway, hasSeveral, hasInstances, mayBeUnknown, isSteady, isSpared } =
    rest as JsonObject;
  const { ends = hasInstances === true ? 'instances.jsonl' : undefined, reachedBy } =
    rest as JsonObject;
  const isWhole =
    typeof name === 'string' &&
    (transport === 'stdio' || transport === 'http') &&
    isCount(concurrency) &&
    isObject(tools);
  if (!isWhole) {
    verdict.violates('evidence', `facts.json: a server is not whole: ${JSON.stringify(value)}`);
    return undefined;
  }
  const names = Object.keys(tools);
  const those = (fact: string) =>
    new Set(names.filter((tool) => (tools[tool] as JsonObject | null)?.[fact] === true));
  return {
    name,
    transport,
    concurrency,
    tools: new Set(names),
    safeTools: those('isSafe'),
    keptTools: those('isKept'),
    rootsTools: those('tellsRoots'),
    turnsAway: transport === 'http' && turnsAway !== false,
    hasSeveral: hasSeveral === true,
    hasInstances: hasInstances === true,
    ends: ends === undefined ? undefined : String(ends),
    reachedBy: reachedBy === undefined ? undefined : String(reachedBy),
    mayBeUnknown: new Set(Array.isArray(mayBeUnknown) ? mayBeUnknown.map(String) : []),
    isSteady: isSteady === true,
    isSpared: isSpared === true,
  };
}

function budgetsIn(value: unknown): ReadonlyMap<string, Budget> {
  const rows = Object.entries(isObject(value) ? value : {}).map(([token, of]) => {
    const { calls, block, ends } = isObject(of) ? of : {};
    return [token, { calls: Number(calls), block: Number(block), ends: String(ends) }] as const;
  });
  return new Map(rows);
}

function gatewayOf(clients: unknown, client: string): string {
  const known = isObject(clients) ? clients[client] : undefined;
  const gateway = isObject(known) ? known['gateway'] : undefined;
  return typeof gateway === 'string' ? gateway : 'the gateway';
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0;
}
