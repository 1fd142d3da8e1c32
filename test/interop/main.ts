// npm run interop: real servers and real clients from npm, with the gateway between them, and, where
// a command for one is given, the official conformance suite against somebody else's server.
// docs/interop.md says what this shows, and holds the tables.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { asked, wholeNumber } from '../proof/asked.ts';
import { measuredOn } from '../proof/machine.ts';
import { conclude, type Report } from '../proof/report.ts';
import { inDocument } from '../proof/summary.ts';
import { runClients } from './client-proof.ts';
import { realClients, sessionClients } from './client-table.ts';
import { compareConformance } from './conformance.ts';
import { installClients, installServers } from './installation.ts';
import { restartReport, runRestarts } from './restart-proof.ts';
import { clientReport, clientTable, serverReport, serverTable } from './results.ts';
import { readBare, readThrough } from './server-proof.ts';
import { launchOf, realServers } from './server-table.ts';

const help = `npm run interop -- [--servers NAMES] [--clients NAMES] [--conformance COMMAND]... [options]

Compares real servers from npm directly and through the gateway, and lets real clients use the gateway.
The packages are installed into test/interop when they are missing (about 2 GB). Exit code 1 if
anything differs. Without --servers, --clients and --conformance: all servers and all clients.
  --servers a,b          these servers only, or all
  --clients a,b          these clients only, or all
  --conformance COMMAND  the official suite against this server, directly and through the gateway; it gets
                         its port in PORT, serves /mcp, and prints a line with the port when it listens
  --restarts N           end and start the gateway so often under load, with clients of --clients (HTTP) that know
                         nothing of it: each must make its next call
  --seconds N            how long all lists may take without stored catalogues (120)
  --at-once N            how many servers are read directly at a time (2)
  --json FILE            writes the report there
  --write                puts the tables into docs/interop.md (only with all servers and all clients)
  --list                 prints the names of the servers and clients
Example: npm run interop -- --servers everything,files --clients sdk-1`;

const documentFile = 'docs/interop.md';

/** How long one client may take for all its steps, and one server until it is read bare. */
const clientMs = 120_000;
const bareMs = 60_000;

interface Wish {
  readonly servers: readonly (typeof realServers)[number][];
  readonly clients: readonly (typeof realClients)[number][];
  readonly conformance: readonly string[];
  readonly restarts: number;
  readonly seconds: number;
  readonly atOnce: number;
  readonly jsonFile: string | undefined;
  readonly isWritten: boolean;
}

const progress = (text: string) => console.error(`interop: ${text}`);

const wish = asked('interop', readWish);
if (wish !== undefined) await prove(wish);

async function prove({ servers, clients, conformance, restarts, ...options }: Wish): Promise<void> {
  if (restarts > 0) {
    await installClients(progress);
    const results = await runRestarts(clients, restarts, progress);
    return conclude(restartReport(results, restarts), options.jsonFile);
  }
  const reports: Report[] = [];
  const tables: string[] = [];
  if (servers.length > 0) {
    const { report, table } = await compareServers(servers, options);
    reports.push(report);
    tables.push(table);
  }
  if (clients.length > 0) {
    await installClients(progress);
    const results = await runClients(clients, clientMs, progress);
    reports.push(clientReport(results, clients.length === realClients.length));
    tables.push(clientTable(results));
  }
  for (const command of conformance) reports.push(await compareConformance(command, progress));
  conclude(joined(reports), options.jsonFile);
  if (!options.isWritten) return;
  const text = [measuredOn(), ...tables].join('\n\n');
  const page = { file: documentFile, command: 'interop' };
  await writeFile(documentFile, inDocument(await readFile(documentFile, 'utf8'), text, page));
  console.log(`written to ${documentFile}`);
}

async function compareServers(
  servers: Wish['servers'],
  { seconds, atOnce }: Pick<Wish, 'seconds' | 'atOnce'>,
): Promise<{ report: Report; table: string }> {
  await installServers(progress);
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-interop-'));
  try {
    const limits = { freshMs: seconds * 1_000, bareMs, atOnce };
    const candidates = servers.map((server) => ({
      name: server.name,
      launch: launchOf(server, folder),
    }));
    progress(`${servers.length} servers, bare`);
    const results = await readBare(candidates, folder, limits, progress);
    const through = await readThrough(candidates, results, limits, progress);
    const isAll = servers.length === realServers.length;
    return {
      report: serverReport(results, through, isAll),
      table: serverTable(servers, results, through.comparisons),
    };
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function joined(reports: readonly Report[]): Report {
  const [only, ...others] = reports;
  if (only !== undefined && others.length === 0) return only;
  return {
    title: 'interop',
    figures: reports.flatMap(({ figures }) => figures),
    findings: reports.flatMap(({ findings }) => findings),
  };
}

function readWish(): Wish | string {
  const { values } = parseArgs({
    options: {
      servers: { type: 'string' },
      clients: { type: 'string' },
      conformance: { type: 'string', multiple: true, default: [] },
      restarts: { type: 'string', default: '0' },
      seconds: { type: 'string', default: '120' },
      'at-once': { type: 'string', default: '2' },
      json: { type: 'string' },
      write: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return help;
  if (values.list) return listed();
  const { servers, clients, conformance } = values;
  const restarts = wholeNumber('restarts', values.restarts);
  if (restarts > 0) return { ...restartWish(clients, restarts), jsonFile: values.json };
  const isAll = servers === undefined && clients === undefined && conformance.length === 0;
  const wished = {
    servers: chosen('--servers', isAll ? 'all' : servers, realServers),
    clients: chosen('--clients', isAll ? 'all' : clients, realClients),
    conformance,
    restarts,
    seconds: wholeNumber('seconds', values.seconds),
    atOnce: wholeNumber('at-once', values['at-once']),
    jsonFile: values.json,
    isWritten: values.write,
  };
  const hasAll = wished.servers.length + wished.clients.length;
  if (values.write && hasAll < realServers.length + realClients.length) {
    throw new Error('--write needs all servers and all clients');
  }
  return wished;
}

/** All clients that keep a session over HTTP, unless some are named. */
function restartWish(names: string | undefined, restarts: number): Omit<Wish, 'jsonFile'> {
  const clients = names === undefined ? sessionClients : chosen('--clients', names, sessionClients);
  const nothing = { servers: [], conformance: [], seconds: 0, atOnce: 1, isWritten: false };
  return { ...nothing, clients, restarts };
}

function chosen<T extends { readonly name: string }>(
  option: string,
  names: string | undefined,
  known: readonly T[],
): readonly T[] {
  if (names === undefined) return [];
  if (names === 'all') return known;
  return names.split(',').map((name) => {
    const found = known.find((one) => one.name === name);
    if (found === undefined) throw new Error(`${option}: ${name} is unknown (--list shows all)`);
    return found;
  });
}

function listed(): string {
  const names = (all: readonly { readonly name: string }[]) =>
    all.map(({ name }) => name).join(', ');
  return `servers: ${names(realServers)}\nclients: ${names(realClients)}`;
}
