// The states of all servers as a table, and of one server as a page with its recent events. The
// states are the current ones; past events come from the event log.

import { noServersText } from '../../config/no-servers.ts';
import type { HostStatus, ServerState, ServerStatus } from '../../host/status.ts';
import { faultTable } from '../../kernel/fault.ts';
import { printableLine } from '../../kernel/printable.ts';
import type { HostEvent } from '../../observe/events.ts';
import { noiseTexts } from '../../observe/noise-text.ts';
import { agoText } from './quantity.ts';
import type { Style } from './style.ts';
import { type Cell, tableLines } from './table.ts';
import { eventText, storyOf, timelineLines } from './timeline.ts';
import { cutTo, wrappedTo } from './width.ts';

export interface StatusView {
  readonly status: HostStatus;
  readonly history: readonly HostEvent[];
  /** Wall time. */
  readonly now: number;
  /** The states are those of a running instance. */
  readonly isLive: boolean;
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

export function limitsNote(style: Style, { columns }: Size): string[] {
  return ['', ...wrappedTo(columns, limits).map((text) => style('dim', text))];
}

export function statusLines(view: StatusView, style: Style, size: Size): string[] {
  const { status } = view;
  const table =
    status.servers.length === 0
      ? ['', printableLine(noServersText(status.config))]
      : ['', ...serverTable(view, style, size)];
  return [headline(status, style, size), ...table];
}

export function serverTable(view: StatusView, style: Style, { columns }: Size): string[] {
  const { status, history, now } = view;
  const rows = status.servers.map((server): Cell[] => [
    { text: server.name, look: (text) => style('bold', text) },
    { text: server.state, look: (text) => style(looks[server.state], text) },
    { text: server.transport, look: (text) => style('dim', text) },
    { text: latestText(server, history, now) },
  ]);
  const headings = ['SERVER', 'STATE', 'TRANSPORT', 'LATEST'].map((text): Cell => {
    return { text, look: (heading) => style('dim', heading) };
  });
  return tableLines([headings, ...rows], columns);
}

function headline(
  { version, config, servers }: HostStatus,
  style: Style,
  { columns }: Size,
): string {
  const count = `${servers.length} ${servers.length === 1 ? 'server' : 'servers'}`;
  const facts = [count, ...(config === null ? [] : [config])];
  const title = `Holdfast ${version}`;
  const rest = cutTo(columns - title.length - 1, `· ${facts.join(' · ')}`);
  return `${style('bold', title)} ${style('dim', rest)}`;
}

/** The result of a call says more than the stop that followed it. */
const telling: ReadonlySet<HostEvent['kind']> = new Set([
  'call',
  'ready',
  'start-failed',
  'lost',
  'ejected',
]);

/** For a server that is not running: the last event, and when it was. */
function latestText(server: ServerStatus, history: readonly HostEvent[], now: number): string {
  const { name, state, cause } = server;
  return cause === null || state === 'idle' ? lastText(name, history, now) : line(cause);
}

function lastText(server: string, history: readonly HostEvent[], now: number): string {
  const own = history.filter((event) => event.server === server && telling.has(event.kind));
  const [before, last] = [own.at(-2), own.at(-1)];
  if (last === undefined) return 'not used yet';
  // A call that failed because its server failed is described by the event of the server.
  const isCause = before?.kind === 'start-failed' || before?.kind === 'lost';
  const told = isCause && isFault(last) ? before : last;
  return line(`${agoText(Math.max(0, now - told.at))} · ${eventText(told)}`);
}

function isFault(event: HostEvent): boolean {
  return event.kind === 'call' && Object.hasOwn(faultTable, event.outcome);
}

/** So that the whole page fits on an ordinary screen. */
const mostEvents = 25;
const linesAround = 7;

export function serverPage(view: StatusView, name: string, style: Style, size: Size): string[] {
  const { status, history, now } = view;
  const server = status.servers.find((candidate) => candidate.name === name);
  if (server === undefined) return [];
  const story = storyOf(history.filter((event) => event.server === name));
  const shown = story.slice(-Math.max(5, Math.min(mostEvents, size.rows - linesAround)));
  const lines = [headlineOf(server, style)];
  const cause = server.cause === null ? [] : wrappedTo(size.columns, line(server.cause));
  for (const one of [...cause, ...noiseTexts(server.noise)]) lines.push(one);
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
