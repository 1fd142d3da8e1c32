// What was found, as figures with their goals for the report, and as tables for docs/interop.md.

import { atLeast, exactly, type Figure, fact, type Report } from '../proof/report.ts';
import type { ClientResult, StepName } from './client-proof.ts';
import { packageOf, type RealClient, type Transport } from './client-table.ts';
import { type List, type ListKind, listKinds, type Reading } from './reading.ts';
import {
  type Comparison,
  type KindName,
  kindNames,
  type ServerResult,
  type Through,
} from './server-proof.ts';
import { type RealServer, versionOf } from './server-table.ts';

const leastServers = 30;
const leastClients = 8;

export function serverReport(
  results: readonly ServerResult[],
  { comparisons, started }: Through,
  isAll: boolean,
): Report {
  const readable = results.filter(({ bare }) => bare !== undefined);
  const unreadable = results.filter(({ bare }) => bare === undefined);
  const figures: Figure[] = [
    isAll
      ? atLeast('servers compared', readable.length, leastServers)
      : fact('servers compared', readable.length),
    fact('servers that could not be read bare', unreadable.map(failureOf).join('; ') || 0),
    fact('servers of the modern era', readable.filter(({ isModern }) => isModern).length),
    ...listKinds.map((kind) => fact(`${kind} compared`, total(readable, kind))),
    ...comparisons.map(({ when, kind, differences }) =>
      exactly(`servers that differ, ${when}, client ${kind}`, differences.size, 0),
    ),
    exactly('servers started although their lists were kept', started.length, 0),
  ];
  const findings = comparisons.flatMap(({ when, kind, differences }) =>
    [...differences].map(
      ([server, lines]) => `${server || 'the gateway'}, ${when}, client ${kind}: ${briefly(lines)}`,
    ),
  );
  return { title: 'real servers', figures, findings: [...findings, ...started] };
}

function failureOf({ name, failure }: ServerResult): string {
  return `${name}: ${failure}`;
}

const fullKind: KindName = kindNames[0] as KindName;

function total(results: readonly ServerResult[], kind: ListKind): number {
  return results.reduce((sum, { bare }) => sum + (listOf(bare, kind)?.items.length ?? 0), 0);
}

function listOf(bare: ServerResult['bare'], kind: ListKind): List | undefined {
  return bare?.get(fullKind)?.lists[kind];
}

const shownLines = 6;

function briefly(lines: readonly string[]): string {
  const rest = lines.length - shownLines;
  const shown = lines.slice(0, shownLines).join('; ');
  return rest > 0 ? `${shown}; and ${rest} more` : shown;
}

export function serverTable(
  servers: readonly RealServer[],
  results: readonly ServerResult[],
  comparisons: readonly Comparison[],
): string {
  const rows = servers.map((server) => {
    const result = results.find(({ name }) => name === server.name);
    const bare = result?.bare;
    if (bare === undefined) {
      return [
        server.package,
        versionOf(server),
        `not read: ${result?.failure}`,
        '',
        '',
        '',
        '',
        '',
        '',
        '',
      ];
    }
    return [
      server.package,
      versionOf(server),
      result?.isModern ? 'both' : 'legacy',
      ...listKinds.map((kind) => countOf(bare, kind)),
      lengthOf(bare.get(fullKind)),
      verdictOf(server.name, 'fresh', comparisons),
      verdictOf(server.name, 'kept', comparisons),
    ];
  });
  const head = 'server,version,era,tools,prompts,resources,templates,instructions,fresh,kept';
  return markdown(head.split(','), rows);
}

/** Of the client with all capabilities; a second number is that of the one without. */
function countOf(bare: ReadonlyMap<KindName, Reading>, kind: ListKind): string {
  const counts = kindNames.map((name) => {
    const list = bare.get(name)?.lists[kind];
    return list?.refusal === undefined ? String(list?.items.length ?? 0) : 'refused';
  });
  return [...new Set(counts)].join(' or ');
}

function lengthOf(reading: Reading | undefined): string {
  const length = reading?.instructions?.length ?? 0;
  return length === 0 ? '' : `${length} characters`;
}

function verdictOf(
  server: string,
  when: Comparison['when'],
  comparisons: readonly Comparison[],
): string {
  const differing = comparisons.filter(
    (comparison) => comparison.when === when && comparison.differences.has(server),
  );
  if (differing.length === 0) return 'equal';
  return `**differs** for the client ${differing.map(({ kind }) => kind).join('; ')}`;
}

export function clientReport(results: readonly ClientResult[], isAll: boolean): Report {
  const packages = new Set(results.map(({ client }) => client.package));
  const failed = results.filter(({ failure }) => failure !== undefined);
  const failing = new Set(failed.map(({ client }) => client.package));
  const working = packages.size - failing.size;
  return {
    title: 'real clients',
    figures: [
      isAll
        ? atLeast('clients that work', working, leastClients)
        : fact('clients that work', working),
      fact('runs of clients, one per transport', results.length),
      exactly('runs of clients that failed', failed.length, 0),
    ],
    findings: failed.map(
      ({ client, transport, failure }) => `${client.name}, ${transport}: ${failure}`,
    ),
  };
}

const transports: readonly Transport[] = ['http', 'stdio', 'sse'];

export function clientTable(results: readonly ClientResult[]): string {
  const clients = [...new Set(results.map(({ client }) => client))];
  const rows = clients.map((client) => {
    const own = results.filter((result) => result.client === client);
    const { name, version } = packageOf(client);
    return [
      nameOf(client, name),
      version,
      String(client.node ?? 20),
      ...transports.map((transport) => endingOf(own, transport)),
      seenBy(own, 'isError'),
      seenBy(own, 'unknown'),
    ];
  });
  const head = 'client,version,Node,HTTP,stdio,2024 transport,a tool that fails,an unknown tool';
  return markdown(head.split(','), rows);
}

function nameOf({ options }: RealClient, name: string): string {
  return options?.['mode'] === undefined ? name : `${name}, mode ${options['mode']}`;
}

function endingOf(results: readonly ClientResult[], transport: Transport): string {
  const result = results.find((one) => one.transport === transport);
  if (result === undefined) return '';
  return result.failure === undefined ? 'works' : `**failed**: ${result.failure.split('\n')[0]}`;
}

/** How the client shows an error: as a result or as an exception. */
function seenBy(results: readonly ClientResult[], step: StepName): string {
  const seen = results.flatMap((result) => result.seen.filter((one) => one.step === step));
  const how = seen.map(({ saw }) => saw.split(':')[0] ?? '');
  return [...new Set(how)].join(' or ');
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
