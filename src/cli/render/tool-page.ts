// Shows tools to a person: many as one line each, one as a page. All of the text comes from
// outside.

import type { JsonObject } from '../../catalog/tool.ts';
import type { KeptMark } from '../../host/discovery.ts';
import { printableLine, printableText } from '../../kernel/printable.ts';
import { headOf } from '../../kernel/text-cut.ts';
import type { ReplayContract } from '../../policy/replay.ts';
import { agoText } from './quantity.ts';
import type { Style } from './style.ts';
import { largest } from './table.ts';
import { cutTo, padTo, widthOf } from './width.ts';

export interface ListedTool {
  readonly server: string;
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  /** Present if the list was stored earlier. */
  readonly kept?: KeptMark;
  readonly [key: string]: unknown;
}

export function toolLines(
  tools: readonly ListedTool[],
  style: Style,
  { columns, now }: { readonly columns: number; readonly now: number },
): string[] {
  const rows = tools.map(({ server, name, title, description, kept }) => ({
    name: cutTo(columns, `${server}/${printableLine(name)}`),
    age: kept ? ageOf(kept, now) : '',
    words: firstWords(description) || firstWords(title),
  }));
  const nameWidth = columnWidth(
    rows.map(({ name }) => widthOf(name)),
    columns,
  );
  const ageWidth = largest(rows.map(({ age }) => widthOf(age)));
  return rows.map(({ name, age, words }) => {
    const taken = Math.max(nameWidth, widthOf(name)) + gap.length;
    const room = columns - taken;
    // Of an age and a description that do not both fit, the description says more.
    const hasAge = ageWidth > 0 && room >= ageWidth + gap.length + fewestWords;
    const padded = words === '' ? age : padTo(ageWidth, age) + gap;
    const margin = hasAge ? padded : '';
    const rest = room < fewestWords ? '' : cutTo(room - widthOf(margin), words);
    const line = `${padTo(taken - widthOf(name), '')}${style('dim', margin)}${rest}`;
    return style('cyan', name) + (`${margin}${rest}`.trim() === '' ? '' : line).trimEnd();
  });
}

const gap = '  ';
/** Columns of a description that are worth showing. */
const fewestWords = 12;
/** A name that is longer stays whole: only its own line has less room. */
const widestShare = 0.5;

function columnWidth(widths: readonly number[], columns: number): number {
  const most = Number.isFinite(columns) ? Math.floor(columns * widestShare) : columns;
  return largest(widths.filter((width) => width <= most));
}

/** When a stored list was read. */
export function ageOf({ listedAt }: KeptMark, now: number): string {
  return listedAt === null ? 'listed earlier' : `listed ${agoText(Math.max(0, now - listedAt))}`;
}

/** The longest description in one line; the table cuts it to the terminal. */
const longestLine = 200;

function firstWords(description: unknown): string {
  if (typeof description !== 'string') return '';
  return cutTo(longestLine, printableLine(headOf(4 * longestLine, description)));
}

export interface ToolPage {
  readonly server: string;
  readonly definition: JsonObject;
  readonly contract: ReplayContract;
  readonly isTrusted: boolean;
}

export function toolPage({ server, definition, contract, isTrusted }: ToolPage, style: Style) {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  const lines = [style('bold', printableLine(`${server}/${name}`))];
  if (typeof title === 'string') lines.push(printableLine(title));
  if (typeof description === 'string') lines.push('', printableText(description.trimEnd()));
  const section = (heading: string, text: string) => lines.push('', style('bold', heading), text);
  section('Arguments', json(inputSchema));
  if (outputSchema !== undefined) section('Result', json(outputSchema));
  const hints = hintText(annotations);
  if (hints !== '') section('Annotations', hints);
  const isReadOnly = (annotations as { readOnlyHint?: unknown } | undefined)?.readOnlyHint === true;
  section('Replay', replayText(contract, server, isReadOnly, isTrusted));
  return lines;
}

function json(value: unknown): string {
  return printableText(JSON.stringify(value, null, 2));
}

function hintText(annotations: unknown): string {
  if (typeof annotations !== 'object' || annotations === null) return '';
  return Object.entries(annotations)
    .map(([hint, value]) => printableLine(`${hint}: ${JSON.stringify(value)}`))
    .join('\n');
}

/** The contract with its reason, and what would change it. */
function replayText(
  { replay, ground }: ReplayContract,
  server: string,
  isReadOnly: boolean,
  isTrusted: boolean,
): string {
  if (ground === 'operator') return `${replay}: set in the config`;
  if (ground === 'annotation') {
    return `${replay}: the server is trusted and the tool has readOnlyHint, so an interrupted call is repeated once`;
  }
  const why =
    isReadOnly && !isTrusted
      ? `the tool has readOnlyHint, but ${server} is not trusted; set "trusted": true to use the hint`
      : 'the tool is not known to be safe to repeat; set its "replay" to "safe" if it is';
  return `${replay}: ${why}`;
}
