// Writes what is derived from the config schema: schema/holdfast.schema.json for editors, the types of
// src/config/config-input.ts for programs, and the tables in docs/configuration.md, which stand between markers so that the prose around them is written by hand.
// `--check` writes nothing and exits 1 if a file is not what it would be.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { type Applies, configKeys, serverKeys } from '../src/config/live-keys.ts';
import { configSchema } from '../src/config/schema.ts';
import { configTypes } from './config-types.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The most that JSON Schema can say of a whole number; no limit anybody has set. */
const unlimited = Number.MAX_SAFE_INTEGER;

const schema: JsonSchema = {
  title: 'holdfast.json',
  description: 'The configuration of Holdfast, a supervised MCP host and gateway.',
  ...z.toJSONSchema(configSchema, { io: 'input' }),
};

const files = new Map([
  ['schema/holdfast.schema.json', () => `${JSON.stringify(schema, null, 2)}\n`],
  ['src/config/config-input.ts', () => configTypes(schema)],
  ['docs/configuration.md', () => withTables(currentText('docs/configuration.md'))],
]);

const isCheck = process.argv.includes('--check');
const stale: string[] = [];
for (const [file, make] of files) {
  const text = make();
  if (text === currentText(file)) continue;
  stale.push(file);
  if (!isCheck) writeFileSync(join(root, file), text);
}
for (const file of stale) {
  console.log(isCheck ? `${file} is not up to date: run npm run generate` : `wrote ${file}`);
}
if (isCheck && stale.length > 0) process.exitCode = 1;

function currentText(file: string): string {
  try {
    return readFileSync(join(root, file), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

/** Replaces what stands between each pair of markers. */
function withTables(page: string): string {
  const [child = {}, remote = {}] = branches(member(schema, 'mcpServers', 'NAME'));
  const { mcpServers: _, $schema: __, ...host } = schema.properties ?? {};
  const tables: Readonly<Record<string, string>> = {
    host: tableOf({ properties: host }),
    process: tableOf(child),
    remote: tableOf(remote, child),
    changes: changesTable(),
  };
  return page.replace(
    /(<!-- keys of the (\w+), generated -->\n)[\s\S]*?(<!-- end -->)/g,
    (_whole, begin: string, name: string, end: string) => {
      const table = tables[name];
      if (table === undefined) throw new Error(`docs/configuration.md asks for a table "${name}"`);
      return `${begin}\n${table}\n${end}`;
    },
  );
}

/** Which keys need what when they change in a host that runs. */
function changesTable(): string {
  const { mcpServers: _, $schema: __, ...settings } = configKeys;
  const { disabled: ___, ...entry } = serverKeys;
  const all = [...Object.entries(settings), ...Object.entries(entry)];
  const needs: readonly (readonly [Applies, string])[] = [
    ['live', 'nothing: the new value applies at once'],
    [
      'restart-server',
      'a new process or connection of that server; running calls may end on the old one',
    ],
    [
      'restart-host',
      'a restart of the host; until then the old value stays in use, and `apply` reports that',
    ],
  ];
  return needs
    .map(([applies, text]) => {
      const keys = all.filter(([, own]) => own === applies).map(([key]) => `\`${key}\``);
      return `- ${text}: ${keys.join(', ')}\n`;
    })
    .join('');
}

type Row = readonly [key: string, type: string, fallback: string, meaning: string];

/** The keys of a place, without those that `known` has in the same words. */
function tableOf(place: JsonSchema, known: JsonSchema = {}): string {
  const seen = new Set(rowsOf(known, '').map(String));
  const rows = rowsOf(place, '').filter((row) => !seen.has(String(row)));
  const head: Row = ['key', 'type', 'default', 'meaning'];
  // The columns are aligned because the formatter of the repository wants them so.
  const widths = head.map((_, column) => {
    return Math.max(...[head, ...rows].map((row) => (row[column] ?? '').length));
  });
  const line = (cells: readonly string[], fill: string) => {
    return `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`;
  };
  const rule = line(['', '', '', ''], '-');
  return [line(head, ' '), rule, ...rows.map((row) => line(row, ' ')), ''].join('\n');
}

function rowsOf(place: JsonSchema, prefix: string): Row[] {
  const required = new Set(place.required);
  return Object.entries(place.properties ?? {}).flatMap(([key, value]) => {
    if (typeof value === 'boolean') return [];
    const name = `${prefix}${key}`;
    const inner = branches(value).find(({ type }) => type === 'object');
    const row = rowOf(name, value, required.has(key));
    if (inner === undefined) return [row];
    if (inner.properties !== undefined) return [row, ...rowsOf(inner, `${name}.`)];
    const item = inner.additionalProperties;
    return typeof item === 'object' ? [row, ...rowsOf(item, `${name}.NAME.`)] : [row];
  });
}

function rowOf(name: string, value: JsonSchema, isRequired: boolean): Row {
  const fallback = isRequired ? 'required' : `\`${JSON.stringify(value.default)}\``;
  const isSection = branches(value).some(({ properties }) => properties !== undefined);
  const shown = isSection && value.default !== null ? '' : fallback;
  return [`\`${name}\``, typeOf(value), shown, value.description ?? ''];
}

function typeOf(value: JsonSchema): string {
  return branches(value)
    .map((branch) => {
      const options = branch.enum ?? (branch.const === undefined ? undefined : [branch.const]);
      if (options !== undefined)
        return options.map((option) => `\`${JSON.stringify(option)}\``).join(', ');
      if (branch.type === 'integer') return rangeOf(branch);
      if (branch.type === 'array') return 'list of texts';
      return (
        { string: 'text', boolean: 'true or false', object: 'object' }[String(branch.type)] ??
        String(branch.type)
      );
    })
    .join(' or ');
}

function rangeOf({ minimum = 0, maximum = unlimited }: JsonSchema): string {
  return maximum === unlimited ? `number ≥ ${minimum}` : `number ${minimum}–${maximum}`;
}

function branches(place: JsonSchema): JsonSchema[] {
  return (place.oneOf ?? place.anyOf ?? [place]).filter((option) => typeof option === 'object');
}

function member(place: JsonSchema, ...path: readonly string[]): JsonSchema {
  let found = place;
  for (const step of path) {
    const next = found.properties?.[step] ?? found.additionalProperties;
    if (typeof next !== 'object') throw new Error(`the schema has no ${path.join('.')}`);
    found = next;
  }
  return found;
}
