// The states of all servers as a table, and of one server as a page with its recent events. The
// states are the current ones; past events come from the event log.

import { noServersText } from '../../config/no-servers.ts';
import type { RefusedCounts } from '../../downstream/http/access/refused-requests.ts';
import type { ServerState, ServerStatus } from '../../host/status.ts';
import type { DifferingWindow } from '../../instance/control-server.ts';
import type { InstanceStatus } from '../../instance/operations.ts';
import { type Fault, faultTable } from '../../kernel/fault.ts';
import { printableLine } from '../../kernel/printable.ts';
import type { HostEvent } from '../../observe/events.ts';
import { noiseTexts } from '../../observe/noise-text.ts';
import type { AccessNote } from '../access-note.ts';
import type { NextSteps } from '../next-step.ts';
import { brokerText, isTrouble } from './broker-line.ts';
import { budgetLines } from './budget-lines.ts';
import { agoText, countText, durationText } from './quantity.ts';
import type { Style } from './style.ts';
import { type Cell, tableLines } from './table.ts';
import { eventText, storyOf, timelineLines } from './timeline.ts';
import { cutTo, widthOf, wrappedTo } from './width.ts';

export interface StatusView {
  readonly status: InstanceStatus;
  readonly history: readonly HostEvent[];
  /** The same without what is about entries that the config has no more. */
  readonly current: readonly HostEvent[];
  /** Wall time. */
  readonly now: number;
  /** `running`: the states are those of the instance. */
  readonly instanceState: 'running' | 'starting' | 'ending' | 'none';
  /** What is said of an instance that cannot be asked now. */
  readonly unreachable?: Fault | undefined;
  /** Each in one line. */
  readonly warnings: readonly string[];
  readonly steps: NextSteps;
  /** Undefined: the config cannot be read now. */
  readonly access?: AccessNote | undefined;
}

/** Of the terminal; infinite where there is none. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

const looks: Readonly<Record<ServerState, Parameters<Style>[0]>> = {
  idle: 'dim',
  starting: 'cyan',
  ready: 'green',
  degraded: 'yellow',
  cooling: 'yellow',
  ejected: 'red',
  stopping: 'dim',
  disabled: 'yellow',
};

/** Without an instance a command can read the config and the event log only. */
const limits =
  'No instance of this config is running: this is from the config and the event log. Start one with: holdfast serve';
const until = 'This is from the config and the event log, because';

/** Nothing if the states are those of an instance. */
export function limitsNote(view: StatusView, style: Style, { columns }: Size): string[] {
  const { steps, instanceState, unreachable } = view;
  if (instanceState === 'running') return [];
  const told = unreachable === undefined ? limits : `${until} ${unreachable.message}`;
  return ['', ...wrappedTo(columns, steps(told)).map((text) => style('dim', text))];
}

export function warningLines(
  { steps }: StatusView,
  warning: string,
  style: Style,
  { columns }: Size,
): string[] {
  const lines = wrappedTo(columns, printableLine(steps(warning)));
  return ['', ...lines.map((text) => style('yellow', text))];
}

export function statusLines(view: StatusView, style: Style, size: Size): string[] {
  const { status, steps } = view;
  const table =
    status.servers.length === 0
      ? ['', printableLine(steps(noServersText(status.config)))]
      : ['', ...serverTable(view, style, size)];
  const notes = [...instanceNotes(status), ...accessNotes(view.access)].flatMap((note) =>
    warningLines(view, note, style, size),
  );
  const broker = view.instanceState === 'running' ? brokerLines(view, style, size) : [];
  const budgets = view.instanceState === 'running' ? budgetLines(view, style, size.columns) : [];
  return [...headline(view, style, size), ...table, ...budgets, ...broker, ...notes];
}

/** Nothing if there is none. */
function brokerLines(view: StatusView, style: Style, size: Size): readonly string[] {
  const { broker = null } = view.status;
  if (broker === null) return [];
  const text = brokerText(broker, view.now);
  if (isTrouble(broker)) return warningLines(view, text, style, size);
  return ['', ...wrappedTo(size.columns, view.steps(text))];
}

/** What is not as one might think. */
function instanceNotes(status: InstanceStatus): readonly string[] {
  const { servers, differing = [], refused = null } = status;
  const seeing = servers.filter(({ stateHidden }) => stateHidden === false);
  const names = seeing.map(({ name }) => name).join(', ');
  const hidden =
    seeing.length === 0
      ? []
      : [`The state directory and the control socket are not hidden from: ${names} (SECURITY.md)`];
  const windows = differing.map((window) => `${differenceText(window)}.`);
  return [...hidden, ...windows, ...(refused === null ? [] : refusedNotes(refused))];
}

/** Requests over HTTP that nobody else is told of: they are in no audit log. */
function refusedNotes({ unauthorized, notFound }: RefusedCounts): readonly string[] {
  if (unauthorized + notFound === 0) return [];
  return [
    `Refused over HTTP: ${countText(unauthorized, 'request')} without a valid token (401), ${countText(notFound, 'request')} to paths that are not there (404).`,
  ];
}

/** Who besides the local user may do what. */
function accessNotes(access: AccessNote | undefined): readonly string[] {
  if (access === undefined) return [];
  const { auth, local, roles, tokens } = access;
  const whole = roles.filter(({ everything }) => everything).map(({ name }) => name);
  return [
    ...(auth === 'none'
      ? ['http.auth is "none": over HTTP everyone on this machine is the local user.']
      : []),
    ...(local === null
      ? []
      : [
          `The local user has the role ${local} ("local.role"), and sees what it may use; see: holdfast role ${local}`,
        ]),
    ...whole.map((name) => `The role ${name} may use everything, also what is added later.`),
    ...(tokens === null ? ['tokens with roles cannot be read now; see: holdfast token list'] : []),
    ...(tokens !== null && tokens > 0
      ? [`${countText(tokens, 'token')} with a role; see: holdfast token list`]
      : []),
  ];
}

/** One window of `connect` that has other variables than the instance. */
export function differenceText({ pid, variables }: DifferingWindow): string {
  const who = pid === null ? 'A window' : `The window of process ${pid}`;
  return `${who} has other values of ${variables.join(', ')} than this instance, and servers get those of the instance; to change that, end it with: holdfast shutdown, then start it with the right ones`;
}

export function serverTable(view: StatusView, style: Style, { columns }: Size): string[] {
  const { status } = view;
  const rows = status.servers.map((server): Cell[] => [
    { text: server.name, look: (text) => style('bold', text) },
    { text: server.state, look: (text) => style(looks[server.state], text) },
    { text: server.transport, look: (text) => style('dim', text) },
    { text: latestText(view, server) },
  ]);
  const headings = ['SERVER', 'STATE', 'TRANSPORT', 'LATEST'].map((text): Cell => {
    return { text, look: (heading) => style('dim', heading) };
  });
  return tableLines([headings, ...rows], columns);
}

function headline(
  { status, instanceState }: StatusView,
  style: Style,
  { columns }: Size,
): string[] {
  const { version, config, servers } = status;
  const facts = [
    ...(instanceState === 'running' ? instanceFacts(status) : []),
    countText(servers.length, 'server'),
    ...(config === null ? [] : [printableLine(config)]),
  ];
  const title = `Holdfast ${version}`;
  const [first = '', ...more] = lineUp([title, ...facts], columns);
  const rest = more.map((text) => style('dim', cutTo(columns, text)));
  return [style('bold', title) + style('dim', cutTo(columns, first).slice(title.length)), ...rest];
}

function instanceFacts({ pid, url, uptimeMs, clients }: InstanceStatus): readonly string[] {
  return [
    ...(url === undefined ? [] : [url ?? 'no HTTP']),
    ...(pid === undefined ? [] : [`pid ${pid}`]),
    `up ${durationText(uptimeMs)}`,
    ...(clients === undefined ? [] : [countText(clients, 'client')]),
  ];
}

/** As many on a line as fit. */
function lineUp(facts: readonly string[], columns: number): readonly string[] {
  const lines: string[] = [];
  for (const fact of facts) {
    const longer = lines.length === 0 ? fact : `${lines.at(-1)} · ${fact}`;
    if (lines.length > 0 && widthOf(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(fact);
  }
  return lines;
}

/** The result of a call says more than the stop that followed it. */
const telling: ReadonlySet<HostEvent['kind']> = new Set([
  'call',
  'ready',
  'start-failed',
  'lost',
  'ejected',
  'reloaded',
]);

/** For a server that is not running: the last event, and when it was. */
function latestText(view: StatusView, server: ServerStatus): string {
  const { state, cause } = server;
  const text = cause === null || state === 'idle' ? lastText(view, server) : line(cause);
  return view.steps(text);
}

function lastText({ current: events, history, now }: StatusView, server: ServerStatus): string {
  const own = events.filter((event) => event.server === server.name && telling.has(event.kind));
  const [before, last] = [own.at(-2), own.at(-1)];
  if (last === undefined) {
    const isChanged = history.some(
      (event) => event.server === server.name && telling.has(event.kind),
    );
    return isChanged ? 'not used since its entry was changed' : 'not used yet';
  }
  // A call that failed because its server failed is described by the event of the server.
  const isCause = before?.kind === 'start-failed' || before?.kind === 'lost';
  const told = isCause && isFault(last) ? before : last;
  return line(`${agoText(Math.max(0, now - told.at))} · ${eventText(current(told, server))}`);
}

/** Without a process that has ended since. */
function current(event: HostEvent, { children }: ServerStatus): HostEvent {
  if (event.kind !== 'ready') return event;
  return children.some(({ pid }) => pid === event.pid) ? event : { ...event, pid: null };
}

function isFault(event: HostEvent): boolean {
  return event.kind === 'call' && Object.hasOwn(faultTable, event.outcome);
}

/** So that the whole page fits on an ordinary screen. */
const mostEvents = 25;
const linesAround = 7;
const notHidden = 'its process can see the state directory and the control socket of Holdfast';

export function serverPage(view: StatusView, name: string, style: Style, size: Size): string[] {
  const { status, history, now } = view;
  const server = status.servers.find((candidate) => candidate.name === name);
  if (server === undefined) return [];
  const story = storyOf(history.filter((event) => event.server === name));
  const shown = story.slice(-Math.max(5, Math.min(mostEvents, size.rows - linesAround)));
  const lines = [headlineOf(server, style)];
  const cause =
    server.cause === null ? [] : wrappedTo(size.columns, view.steps(line(server.cause)));
  const seen =
    server.stateHidden === false ? wrappedTo(size.columns, `${notHidden} (SECURITY.md)`) : [];
  for (const one of [...cause, ...seen, ...noiseTexts(server.noise)]) lines.push(one);
  const section = (heading: string, content: readonly string[]) => {
    lines.push('', style('bold', heading));
    for (const one of content) lines.push(one);
  };
  const count = shown.length < story.length ? ` (the last ${shown.length} of ${story.length})` : '';
  section(
    `Timeline${count}`,
    story.length === 0 ? ['nothing yet'] : timelineLines(shown, now, style, size.columns),
  );
  if (server.stderr.length > 0) section('Standard error', server.stderr.map(line));
  return lines;
}

function headlineOf(server: ServerStatus, style: Style): string {
  const facts = [
    server.transport,
    server.lazy ? 'starts when it is needed' : 'starts with the host',
    server.trusted ? 'trusted' : 'not trusted',
  ];
  const state = style(looks[server.state], server.state);
  const rest = server.state === 'disabled' ? '' : style('dim', ` · ${facts.join(' · ')}`);
  return `${style('bold', server.name)} ${state}${rest}`;
}

function line(text: string): string {
  return printableLine(text);
}
