// What a role should allow, written a second time and in another way than the product does it: patterns as
// regular expressions, from the words of docs/configuration.md.

import { ownMethod, type Thing, toolNames } from './objects.ts';

export interface Rules {
  readonly allow: readonly string[];
  readonly deny?: readonly string[];
  readonly operator?: boolean;
}

const kindOf = {
  tool: '',
  prompt: 'prompt:',
  resource: 'resource:',
  template: 'resource:',
  skill: 'resource:',
};

/** Both ways to write it. */
function spellings(kind: keyof typeof kindOf, server: string, name: string): readonly string[] {
  const prefix = kindOf[kind];
  return [`${prefix}${server}/${name}`, `${prefix}${server}__${name}`];
}

function isMatched(patterns: readonly string[], texts: readonly string[]): boolean {
  return patterns.some((pattern) => {
    if (pattern === '*') return true;
    const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
    // A star in a pattern of one kind does not reach into another kind.
    const isKind = /^(prompt|resource):/.exec(pattern)?.[0] ?? '';
    const expression = new RegExp(`^${parts.join('[^]*')}$`);
    return texts.some((text) => {
      const own = /^(prompt|resource):/.exec(text)?.[0] ?? '';
      return own === isKind && expression.test(text);
    });
  });
}

export function isAllowed(
  rules: Rules | undefined,
  { server, kind, name }: Pick<Thing, 'server' | 'kind' | 'name'>,
): boolean {
  if (rules === undefined) return false;
  const { allow, deny = [] } = rules;
  if (kind === 'method') return isWhole(rules, server);
  // They speak of the server's tools: of all of them or not at all.
  if (kind === 'instructions') {
    const tools = toolNames.map((tool) => ({ server, kind: 'tool' as const, name: tool }));
    return isSeen(rules, server) && tools.every((tool) => isAllowed(rules, tool));
  }
  const texts = spellings(kind, server, name);
  return isMatched(allow, texts) && !isMatched(deny, texts);
}

/** Names that stand for all that a server could have. */
const anyNames = [
  'read',
  'zzz',
  ownMethod,
  'x://alpha/a',
  'x://beta/a',
  'x://gamma/a',
  'x://both',
  'p',
  'q',
];
const kinds = ['tool', 'prompt', 'resource'] as const;

function isWhole(rules: Rules, server: string): boolean {
  const all = kinds.every((kind) =>
    anyNames.every((name) => isMatched(rules.allow, spellings(kind, server, name))),
  );
  const touched = (rules.deny ?? []).some((pattern) => mentions(pattern, server));
  return all && !touched;
}

/** Of the roles in these tables: whether some pattern is about this server. */
function isSeen({ allow, deny = [] }: Rules, server: string): boolean {
  return kinds.some((kind) => {
    const own = allow.filter((pattern) => pattern === '*' || kindIn(pattern) === kind);
    const mine = own.some((pattern) => mentions(pattern, server));
    const against = deny.filter((pattern) => pattern === '*' || kindIn(pattern) === kind);
    const isGone = against.some((pattern) =>
      ['zzz', 'read', 'p', 'x://both'].every((name) =>
        isMatched([pattern], spellings(kind, server, name)),
      ),
    );
    return mine && !isGone;
  });
}

export function seesServer(rules: Rules | undefined, server: string): boolean {
  return rules !== undefined && isSeen(rules, server);
}

function kindIn(pattern: string): (typeof kinds)[number] {
  if (pattern.startsWith('prompt:')) return 'prompt';
  return pattern.startsWith('resource:') ? 'resource' : 'tool';
}

function mentions(pattern: string, server: string): boolean {
  if (pattern === '*') return true;
  const rest = pattern.replace(/^(prompt|resource):/, '');
  if (rest === '*') return true;
  const [head = ''] = rest.includes('/') ? rest.split('/') : rest.split('__');
  return new RegExp(`^${head.split('*').join('.*')}$`).test(server);
}
