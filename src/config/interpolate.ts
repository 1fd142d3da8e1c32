// Replaces variables in the strings of one server's entry. `${NAME}` and `${env:NAME}` are
// environment variables; `:-text` after the name is used when the variable is not set or empty;
// `${workspaceFolder}` and similar names are known folders; `${input:ID}` is a value that another
// client would ask its user for; `${file:PATH}` and `${cmd:PROGRAM ARGS}` are left to late-values.ts;
// `$${` is a literal `${`. Only parsed string values are processed:
// never keys, never the raw text, and never the value of a variable. A form that cannot be replaced
// is reported as a gap, never left as literal text.

import { basename, sep } from 'node:path';
import { isRecord } from '../kernel/json-values.ts';
import { ownValue } from '../kernel/own-value.ts';
import { clientCwd, folderMarks } from './client-folders.ts';
import type { Path } from './document.ts';
import { lateForm, lateMark, lateRule } from './late-values.ts';
import { pathText, shownWord } from './message-text.ts';
import type { UsedVariable } from './secrets.ts';

export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The value of `${workspaceFolder}`. */
  readonly folder: string;
  /** That is left as it is. */
  readonly isFolderLater?: boolean;
  /** Whether files and commands may be named: in our own file. */
  readonly hasLateForms?: boolean;
  /** The value of `${userHome}`, if there is one. */
  readonly home: string | undefined;
  /** The defaults of the inputs that the file declares, by id. */
  readonly inputs: ReadonlyMap<string, string>;
}

/** A string that could not be completed; the server it belongs to cannot run. */
export interface Gap {
  readonly path: Path;
  readonly cause: string;
}

export interface Interpolated {
  readonly value: unknown;
  readonly gaps: readonly Gap[];
  /** The values of environment variables that were inserted, and where. */
  readonly used: readonly (UsedVariable & { readonly path: Path })[];
}

interface Found {
  readonly gaps: Gap[];
  readonly used: (UsedVariable & { readonly path: Path })[];
}

/** The same value with all variables replaced; `path` is its place, for the causes. */
export function interpolate(value: unknown, path: Path, variables: Variables): Interpolated {
  const found: Found = { gaps: [], used: [] };
  return { value: replaceIn(value, path, variables, found), ...found };
}

function replaceIn(value: unknown, path: Path, given: Variables, found: Found): unknown {
  // Of a server that runs in the folders of its clients: replaced when it is started.
  const isElsewhere = path.length === 2 && isRecord(value) && value['cwd'] === clientCwd;
  const variables = isElsewhere ? { ...given, isFolderLater: true } : given;
  if (typeof value === 'string') return replaceInText(value, path, variables, found);
  if (Array.isArray(value)) {
    return value.map((item, index) => replaceIn(item, [...path, index], variables, found));
  }
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = Object.create(null);
  for (const [key, member] of Object.entries(value)) {
    copy[key] = replaceIn(member, [...path, key], variables, found);
  }
  return copy;
}

const variableForm = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;
const inputForm = /^input:(.+)$/;

/** From left to right, each character once: a text may be long and full of braces. */
function replaceInText(text: string, path: Path, variables: Variables, found: Found): string {
  let done = '';
  let from = 0;
  for (let at = text.indexOf('${'); at >= 0; at = text.indexOf('${', from)) {
    const isLiteral = at > from && text[at - 1] === '$';
    done += text.slice(from, isLiteral ? at - 1 : at);
    if (isLiteral) {
      done += '${';
      from = at + 2;
      continue;
    }
    const end = text.indexOf('}', at);
    const outcome = end < 0 ? unreadable('${') : resolve(text.slice(at + 2, end), path, variables);
    if (outcome.kind === 'gap') {
      found.gaps.push({ path, cause: `${pathText(path)} ${outcome.cause}` });
      // The server cannot run, so the rest of an unclosed text does not matter.
      if (end < 0) return done + text.slice(at);
    }
    if (outcome.kind === 'text' && outcome.variable !== undefined) {
      found.used.push({ path, name: outcome.variable, value: outcome.text });
    }
    done += outcome.kind === 'text' ? outcome.text : text.slice(at, end + 1);
    from = end + 1;
  }
  return done + text.slice(from);
}

type Outcome =
  | { readonly kind: 'text'; readonly text: string; readonly variable?: string }
  | { readonly kind: 'gap'; readonly cause: string };

function resolve(inside: string, path: Path, variables: Variables): Outcome {
  const late = lateForm(inside, variables);
  if (late?.kind === 'wrong') return { kind: 'gap', cause: late.cause };
  if (late) {
    return variables.hasLateForms === true && isLatePlace(path)
      ? { kind: 'text', text: lateMark(late.source) }
      : misplaced(`\${${inside}}`);
  }
  const place = knownPlace(inside, variables);
  if (place !== undefined) return { kind: 'text', text: place };
  const input = inputForm.exec(inside)?.[1];
  if (input !== undefined) return answerTo(input, variables);
  // A second `${` is a nested form; taking its first brace as the end would corrupt the rest.
  const [, name, fallback] = inside.includes('${') ? [] : (variableForm.exec(inside) ?? []);
  if (name === undefined) return unreadable(`\${${inside}}`);
  const value = ownValue(variables.env, name);
  if (value !== undefined && (value !== '' || fallback === undefined)) {
    return { kind: 'text', text: value, variable: name };
  }
  if (fallback !== undefined) return { kind: 'text', text: fallback };
  return {
    kind: 'gap',
    cause: `needs the environment variable ${name}, which is not set: set it, or give a default as \${${name}:-…}`,
  };
}

function knownPlace(name: string, variables: Variables): string | undefined {
  const { folder, home, isFolderLater = false } = variables;
  switch (name) {
    case 'workspaceFolder':
      return isFolderLater ? folderMarks.path : folder;
    case 'workspaceFolderBasename':
      return isFolderLater ? folderMarks.name : basename(folder);
    case 'userHome':
      return home;
    case 'pathSeparator':
    case '/':
      return sep;
    default:
      return undefined;
  }
}

function answerTo(id: string, { inputs }: Variables): Outcome {
  const text = inputs.get(id);
  if (text !== undefined) return { kind: 'text', text };
  return {
    kind: 'gap',
    cause: `needs the input ${shownWord(id)}, which Holdfast cannot ask for: write the value, or \${env:NAME} and set that variable`,
  };
}

function isLatePlace([section, , key, name]: Path): boolean {
  return section === 'mcpServers' && (key === 'env' || key === 'headers') && name !== undefined;
}

function misplaced(form: string): Outcome {
  return { kind: 'gap', cause: `has ${shownWord(form)}: ${lateRule}` };
}

function unreadable(form: string): Outcome {
  const [, word = ''] = /^\$\{(cmd|file|env|input):/i.exec(form) ?? [];
  if (word !== word.toLowerCase()) {
    const right = `write \${${word.toLowerCase()}:…}, in small letters`;
    return { kind: 'gap', cause: `has the unknown form ${shownWord(form)}: ${right}` };
  }
  return {
    kind: 'gap',
    cause: `has the unknown form ${shownWord(form)}: use \${env:NAME} or \${NAME:-default}, or $\${ for a literal \${`,
  };
}
