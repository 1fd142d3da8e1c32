// The URIs that one server claims: those it listed, those in its results, its templates, and those
// that an earlier run has shown as its own. uri-owners.ts decides who owns a URI that several
// claim.

import { hash } from 'node:crypto';
import { looksRewritten, serverMark } from './rewritten-uri.ts';
import { templateFrom, type UriTemplate } from './uri-template.ts';

/** Templates that are compared with others; further ones of a server are always rewritten. */
const maxTemplates = 256;
/** Longer URIs are stored by their hash, so that a server cannot make us store megabytes. */
const maxKeyLength = 256;

export interface Holdings {
  readonly server: string;
  readonly mark: string;
  /**
   * With the turn in which it was first listed: between two turns something was shown to a client.
   */
  listed: ReadonlyMap<string, number>;
  templateTurns: ReadonlyMap<string, number>;
  /** What an earlier run has shown as its own; each is needed until it is listed. */
  held: ReadonlySet<string>;
  /** Whether it has listed in this run, even an empty list. */
  hasListed: boolean;
  /** How many skills it lists. */
  skills: number;
  /** In order of use. */
  readonly returned: Set<string>;
  templates: ReadonlyMap<string, UriTemplate>;
  /** How many of its claims are to URIs that another server owns. */
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

/** The templates that can be compared with others; the rest is always rewritten. */
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

/** The beginning stays readable, because it shows whether a URI looks rewritten. */
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
