// Variables in the strings of one server's entry. `${NAME}` and `${env:NAME}` are environment variables,
// `:-text` after the name stands in when the variable is not set or empty, `${workspaceFolder}` and its
// kin are known places, `${input:ID}` is a question that another client would ask its user, and `$${` is
// a literal `${`. Only parsed string values are looked at: never keys, never the raw text, and what a
// variable brings in is not looked at again. What cannot be replaced is a gap, never a silent literal.

import { basename, sep } from 'node:path';
import type { Path } from './document.ts';
import { pathText } from './path-text.ts';

export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What `${workspaceFolder}` stands for. */
  readonly folder: string;
  /** What `${userHome}` stands for, if there is one. */
  readonly home: string | undefined;
  /** The defaults of the questions the file declares, by id. */
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
}

/** The same value with all variables replaced; `path` says where it stands, for the causes. */
export function interpolate(value: unknown, path: Path, variables: Variables): Interpolated {
  const gaps: Gap[] = [];
  return { value: replaceIn(value, path, variables, gaps), gaps };
}

function replaceIn(value: unknown, path: Path, variables: Variables, gaps: Gap[]): unknown {
  if (typeof value === 'string') return replaceInText(value, path, variables, gaps);
  if (Array.isArray(value)) {
    return value.map((item, index) => replaceIn(item, [...path, index], variables, gaps));
  }
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = Object.create(null);
  for (const [key, member] of Object.entries(value)) {
    copy[key] = replaceIn(member, [...path, key], variables, gaps);
  }
  return copy;
}

/** `$${`, or `${…}` up to the first closing brace, or a `${` that is never closed. */
const placeholder = /\$\$\{|\$\{([^}]*)\}|\$\{/g;

const variableForm = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;
const inputForm = /^input:(.+)$/;

function replaceInText(text: string, path: Path, variables: Variables, gaps: Gap[]): string {
  return text.replace(placeholder, (whole: string, inside: string | undefined) => {
    if (whole === '$${') return '${';
    const outcome = inside === undefined ? unreadable(whole) : resolve(inside, variables);
    if (outcome.kind === 'text') return outcome.text;
    gaps.push({ path, cause: `${pathText(path)} ${outcome.cause}` });
    return whole;
  });
}

type Outcome =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'gap'; readonly cause: string };

function resolve(inside: string, variables: Variables): Outcome {
  const place = knownPlace(inside, variables);
  if (place !== undefined) return { kind: 'text', text: place };
  const input = inputForm.exec(inside)?.[1];
  if (input !== undefined) return answerTo(input, variables);
  // A second `${` means a nested form; taking its first brace as the end would garble the rest.
  const [, name, fallback] = inside.includes('${') ? [] : (variableForm.exec(inside) ?? []);
  if (name === undefined) return unreadable(`\${${inside}}`);
  const value = Object.hasOwn(variables.env, name) ? variables.env[name] : undefined;
  if (value !== undefined && (value !== '' || fallback === undefined)) {
    return { kind: 'text', text: value };
  }
  if (fallback !== undefined) return { kind: 'text', text: fallback };
  return {
    kind: 'gap',
    cause: `needs the environment variable ${name}, which is not set: set it, or give a default as \${${name}:-…}`,
  };
}

function knownPlace(name: string, { folder, home }: Variables): string | undefined {
  switch (name) {
    case 'workspaceFolder':
      return folder;
    case 'workspaceFolderBasename':
      return basename(folder);
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
    cause: `asks for the input "${id}", and nobody can be asked here: write the value, or \${env:NAME} and set that variable`,
  };
}

function unreadable(form: string): Outcome {
  return {
    kind: 'gap',
    cause: `has ${JSON.stringify(form)}, which is no form known here: use \${env:NAME} or \${NAME:-default}, or $\${ for a literal \${`,
  };
}
