// What one server claims of the URIs: those it listed, those that stood in its results, its templates,
// and what an earlier run has shown as its own. Who owns a URI that several claim is left to uri-owners.

import { hash } from 'node:crypto';
import { looksRewritten, serverMark } from './rewritten-uri.ts';
import { templateFrom, type UriTemplate } from './uri-template.ts';

/** Templates that are compared with others; what a server lists beyond is always rewritten. */
const maxTemplates = 256;
/** Longer URIs are remembered by their hash, so that a server cannot make us keep megabytes. */
const maxKeyLength = 256;

export interface Holdings {
  readonly server: string;
  readonly mark: string;
  /** With the turn in which it was first listed: between two turns something was shown to a client. */
  listed: ReadonlyMap<string, number>;
  templateTurns: ReadonlyMap<string, number>;
  /** What an earlier run has shown as its own; each is needed until it is listed. */
  held: ReadonlySet<string>;
  /** Has it listed anything in this run, be it nothing? */
  hasListed: boolean;
  /** How many skills it lists. */
  skills: number;
  /** In order of use. */
  readonly returned: Set<string>;
  templates: ReadonlyMap<string, UriTemplate>;
  /** How many of its claims are to URIs that another owns. */
  rewritten: number;
  /** How many of its templates cannot be compared. */
  rewrittenTemplates: number;
}

export function holdingsOf(server: string): Holdings {
  return {
    server,
    mark: serverMark(server),
    listed: new Map(),
    templateTurns: new Map(),
    held: new Set(),
    hasListed: false,
    skills: 0,
    returned: new Set(),
    templates: new Map(),
    rewritten: 0,
    rewrittenTemplates: 0,
  };
}

/** The templates that can be compared with others; the rest is rewritten unseen. */
export function judged(texts: readonly string[]): ReadonlyMap<string, UriTemplate> {
  const templates = new Map<string, UriTemplate>();
  for (const text of texts) {
    const template = judgedAlone(text, templates.size);
    if (template !== undefined) templates.set(text, template);
  }
  return templates;
}

export function judgedAlone(text: string, before: number): UriTemplate | undefined {
  return before < maxTemplates && !looksRewritten(text) ? templateFrom(text) : undefined;
}

/** The beginning stays readable: whether a URI looks rewritten is told by it. */
export function uriKey(uri: string): string {
  if (uri.length <= maxKeyLength) return uri;
  return `${uri.slice(0, 16)}\n${hash('sha256', uri, 'base64url')}`;
}

export function insert(ranks: number[], rank: number): void {
  const at = ranks.findIndex((other) => other > rank);
  ranks.splice(at < 0 ? ranks.length : at, 0, rank);
}

export function remove(ranks: number[], rank: number): void {
  ranks.splice(ranks.indexOf(rank), 1);
}
