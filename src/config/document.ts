// Parses the text of a config file into a value and a map of positions. Comments and trailing
// commas are allowed. What JSON leaves open is refused here: a key given twice, and the three names
// that reach an object's prototype. Objects have no prototype. Other files decide what the keys
// mean.

import {
  findNodeAtLocation,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { Fault } from '../kernel/fault.ts';
import { ownValue } from '../kernel/own-value.ts';
import { shownWord } from './message-text.ts';
import { emptyFile } from './no-servers.ts';

export type Path = readonly (string | number)[];

/** A mistake at a place of the configuration, as one line for a person. */
export interface Problem {
  readonly kind: 'unknown-key' | 'invalid';
  readonly path: Path;
  readonly text: string;
}

export interface Document {
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** `line:column` of the key or item at the path, or of the nearest enclosing one. */
  placeOf(path: Path): string;
}

/** The deepest nesting that is accepted; it bounds every recursive walk over the config. */
const maxDepth = 64;

const forbiddenKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

const expectation: Readonly<Record<string, string>> = {
  InvalidSymbol: 'expected text in double quotes, a number, true, false, null, { or [',
  InvalidNumberFormat: 'this is not a number',
  PropertyNameExpected: 'expected a key in double quotes',
  ValueExpected: 'expected a value',
  ColonExpected: 'expected ":" after the key',
  CommaExpected: 'expected "," or the closing bracket',
  CloseBraceExpected: 'expected "}"',
  CloseBracketExpected: 'expected "]"',
  EndOfFileExpected: 'expected the end of the file',
  InvalidCommentToken: 'expected a comment of the form // or /* */',
  UnexpectedEndOfComment: 'the comment is never closed',
  UnexpectedEndOfString: 'the text is never closed: expected a double quote',
  UnexpectedEndOfNumber: 'the number ends too early',
  InvalidUnicode: 'expected four hexadecimal digits after \\u',
  InvalidEscapeCharacter:
    'expected one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u after the backslash',
  InvalidCharacter: 'control characters must be written as \\u escapes',
};

/** Reads the text; a syntax error is a fault that names the place in `file`. */
export function parseDocument(text: string, file: string): Document {
  const errors: ParseError[] = [];
  const root = treeOf(text, errors, file);
  // Only the first error is reported: later ones are mostly its consequence.
  const [error] = errors;
  if (error !== undefined || root === undefined) {
    const place = placeAt(text, error?.offset ?? 0);
    const other = otherFormat(text, file);
    if (other !== undefined) {
      const remedy = 'Holdfast reads JSON: write its servers under "mcpServers" in a holdfast.json';
      throw new Fault('invalid_request', `${file}: this is ${other}; ${remedy}`);
    }
    // White space and comments only; another format may have comments of its own.
    if (root === undefined && error?.offset === text.length) {
      throw new Fault('invalid_request', `${file}: ${emptyFile}`);
    }
    const reason =
      error === undefined ? undefined : ownValue(expectation, printParseErrorCode(error.error));
    throw new Fault('invalid_request', `${file}:${place}: ${reason ?? 'expected a JSON object'}`);
  }
  const problems: Problem[] = [];
  const repeated = new Map<string, number>();
  const value = plainValue(root, [], { problems, repeated });
  return {
    value,
    problems,
    placeOf: (path) => placeAt(text, repeated.get(JSON.stringify(path)) ?? offsetOf(root, path)),
  };
}

/**
 * The format in which some clients keep their servers, recognised by the file's name or its lines.
 */
function otherFormat(text: string, file: string): 'TOML' | 'YAML' | undefined {
  if (
    /\.toml$/i.test(file) ||
    /^[ \t]*\[{1,2}[A-Za-z_][\w.\-"' ]*\]{1,2}[ \t]*(?:#.*)?$/m.test(text)
  ) {
    return 'TOML';
  }
  return /\.ya?ml$/i.test(file) || /^mcp_?servers:[ \t]*$/im.test(text) ? 'YAML' : undefined;
}

/** A copy of a value given as an object by a program, under the same rules as a file's. */
export function documentFrom(input: unknown): Document {
  const problems: Problem[] = [];
  return { value: plainCopy(input, [], problems), problems, placeOf: () => '' };
}

function treeOf(text: string, errors: ParseError[], file: string): Node | undefined {
  try {
    return parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: false });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // The parser recurses: only a text nested many thousand levels deep gets here.
    throw new Fault('invalid_request', `${file}: nested too deeply to be read`);
  }
}

interface Findings {
  readonly problems: Problem[];
  /** The position of a key that occurs a second time, by its path. */
  readonly repeated: Map<string, number>;
}

function plainValue(node: Node, path: Path, found: Findings): unknown {
  if (isTooDeep(path, node.children?.length ?? 0, found.problems)) return null;
  if (node.type === 'array') {
    return (node.children ?? []).map((item, index) => plainValue(item, [...path, index], found));
  }
  if (node.type === 'string') return ownText(String(node.value));
  if (node.type !== 'object') return node.value;
  const object: Record<string, unknown> = Object.create(null);
  for (const property of node.children ?? []) {
    const [keyNode, valueNode] = property.children ?? [];
    if (keyNode === undefined || valueNode === undefined) continue;
    const key = String(keyNode.value);
    const at = [...path, key];
    if (Object.hasOwn(object, key)) {
      found.repeated.set(JSON.stringify(at), keyNode.offset);
      found.problems.push({
        kind: 'invalid',
        path: at,
        text: `the key ${shownWord(key)} is given twice: remove one`,
      });
    }
    refuseForbidden(key, at, found.problems);
    object[key] = plainValue(valueNode, at, found);
  }
  return object;
}

/** The parser cuts its texts out of the file's, and a cut text holds the whole: a server may keep its config for long. */
function ownText(cut: string): string {
  return JSON.parse(JSON.stringify(cut));
}

function plainCopy(input: unknown, path: Path, problems: Problem[]): unknown {
  if (typeof input !== 'object' || input === null) return input;
  if (isTooDeep(path, Object.keys(input).length, problems)) return null;
  if (Array.isArray(input)) {
    return input.map((item, index) => plainCopy(item, [...path, index], problems));
  }
  const object: Record<string, unknown> = Object.create(null);
  for (const [key, member] of Object.entries(input)) {
    if (member === undefined) continue;
    refuseForbidden(key, [...path, key], problems);
    object[key] = plainCopy(member, [...path, key], problems);
  }
  return object;
}

/** Whether its members would be too deep. Reported once for all of them. */
function isTooDeep(path: Path, members: number, problems: Problem[]): boolean {
  if (path.length < maxDepth || members === 0) return false;
  problems.push({ kind: 'invalid', path, text: `nested deeper than ${maxDepth} levels` });
  return true;
}

function refuseForbidden(key: string, path: Path, problems: Problem[]): void {
  if (!forbiddenKeys.has(key)) return;
  problems.push({
    kind: 'invalid',
    path,
    text: `the key ${shownWord(key)} is not allowed anywhere: choose another name`,
  });
}

/** The key or item at the path, or the nearest enclosing one. */
function offsetOf(root: Node, path: Path): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = findNodeAtLocation(root, path.slice(0, length));
    if (node === undefined) continue;
    return node.parent?.type === 'property' ? node.parent.offset : node.offset;
  }
  return root.offset;
}

function placeAt(text: string, offset: number): string {
  const lines = text.slice(0, offset).split(/\r\n|\r|\n/);
  return `${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
}
