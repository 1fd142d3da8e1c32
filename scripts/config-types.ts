// Writes the types of what a config may say (src/config/config-input.ts) from its JSON schema: an interface
// for each section, and for each key a comment with its meaning, unit, range and default.

import type * as z from 'zod';

type JsonSchema = z.core.JSONSchema.BaseSchema;

const opening = `// Generated from the config schema by \`npm run generate\`; do not edit. What a config may say, as types for
// programs that give their config as an object. schema.ts and server-schema.ts have the truth: these
// types accept the same (config-input.test.ts), with the descriptions where an editor shows them.
`;

/** The most that JSON Schema can say of a whole number; no limit anybody has set. */
const unlimited = Number.MAX_SAFE_INTEGER;

/** The kinds of a server's entry, in the order of the schema. */
const serverKinds = [
  {
    name: 'StdioServerInput',
    meaning: 'A server that is a process. It must have a `command`.',
  },
  { name: 'RemoteServerInput', meaning: 'A server at an address. It must have a `url`.' },
] as const;

export function configTypes(schema: JsonSchema): string {
  const declarations = new Declarations();
  declarations.section('ConfigInput', schema, 'Everything that a config may say.');
  return [opening, ...declarations.texts].join('\n');
}

interface Declaration {
  readonly meaning: string;
  /** `interface NAME` or `type NAME =`. */
  readonly head: string;
  body: string;
}

class Declarations {
  /** By name, in the order in which they are needed first. */
  readonly #all = new Map<string, Declaration>();

  get texts(): readonly string[] {
    return [...this.#all.values()].map(
      ({ meaning, head, body }) => `${comment(meaning, '')}export ${head} ${body}\n`,
    );
  }

  /** Declares a section, once. False if the name belongs to a section with other keys. */
  section(name: string, section: JsonSchema, meaning: string): boolean {
    const known = this.#all.get(name);
    const declaration = { meaning, head: `interface ${name}`, body: '' };
    if (known === undefined) this.#all.set(name, declaration);
    declaration.body = block(this.#membersOf(name, section).values());
    return known === undefined || known.body === declaration.body;
  }

  /** Declares the kinds of servers; keys that mean the same for all of them are written once. */
  #servers(kinds: readonly JsonSchema[]): string {
    if (kinds.length !== serverKinds.length) throw new Error('a new kind of server needs a name');
    const names = serverKinds.map(({ name }) => name);
    const union = { meaning: 'One entry of `mcpServers`.', head: 'type ServerInput =' };
    this.#all.set('ServerInput', { ...union, body: `${names.join(' | ')};` });
    const declared = serverKinds.map(({ name, meaning }) => {
      const one = { meaning, head: `interface ${name} extends CommonServerInput`, body: '' };
      this.#all.set(name, one);
      return one;
    });
    const common = { meaning: 'What every server can have.', head: 'interface CommonServerInput' };
    const shared = { ...common, body: '' };
    this.#all.set('CommonServerInput', shared);
    const members = names.map((name, index) => this.#membersOf(name, kinds[index] ?? {}));
    const isCommon = ([key, text]: readonly [string, string]) =>
      members.every((one) => one.get(key) === text);
    shared.body = block([...(members[0] ?? [])].filter(isCommon).map(([, text]) => text));
    for (const [index, one] of declared.entries()) {
      const own = [...(members[index] ?? [])].filter((member) => !isCommon(member));
      one.body = block(own.map(([, text]) => text));
    }
    return 'ServerInput';
  }

  #membersOf(name: string, section: JsonSchema): ReadonlyMap<string, string> {
    const required = new Set(section.required);
    const members = Object.entries(section.properties ?? {}).map(([key, value]) => {
      if (typeof value === 'boolean') throw new Error(`${name}.${key} is no schema`);
      const isOptional = !required.has(key);
      const type = this.#typeOf(name, key, value) + (isOptional ? ' | undefined' : '');
      const line = `  readonly ${key}${isOptional ? '?' : ''}: ${type};\n`;
      return [key, `${comment(describe(key, value, isOptional), '  ')}${line}`] as const;
    });
    return new Map(members);
  }

  #typeOf(place: string, key: string, value: JsonSchema): string {
    const types = branches(value).map((branch) => this.#branchType(place, key, branch));
    return [...new Set(types)].join(' | ');
  }

  #branchType(place: string, key: string, branch: JsonSchema): string {
    const { type, properties, additionalProperties, items } = branch;
    const options = branch.enum ?? (branch.const === undefined ? undefined : [branch.const]);
    if (options !== undefined) return options.map(quoted).join(' | ');
    if (properties !== undefined)
      return this.#section(place, key, branch, `The keys of \`${key}\`.`);
    if (type === 'object' && typeof additionalProperties === 'object') {
      return `Readonly<Record<string, ${this.#entryType(place, key, additionalProperties)}>>`;
    }
    if (type === 'array' && typeof items === 'object' && !Array.isArray(items)) {
      return `readonly ${this.#typeOf(place, key, items as JsonSchema)}[]`;
    }
    const plain = new Map(Object.entries({ integer: 'number', string: 'string' }));
    const simple = plain.get(String(type)) ?? String(type);
    if (!/^(string|number|boolean|null)$/.test(simple)) {
      throw new Error(`${place}.${key} is of a kind that cannot be written as a type: ${type}`);
    }
    return simple;
  }

  /** The type of what a map holds under each name. */
  #entryType(place: string, key: string, entry: JsonSchema): string {
    if (key === 'mcpServers') return this.#servers(branches(entry));
    if (entry.properties === undefined) return this.#typeOf(place, key, entry);
    return this.#section(place, key.replace(/s$/, ''), entry, `One entry of \`${key}\`.`);
  }

  #section(place: string, key: string, section: JsonSchema, meaning: string): string {
    const name = `${key.charAt(0).toUpperCase()}${key.slice(1)}Input`;
    // The kinds of servers have sections of the same name; where they differ, the name says whose it is.
    const own = place.replace(/(Server)?Input$/, '');
    const written = [name, `${own}${name}`].find((one) => this.section(one, section, meaning));
    if (written === undefined) throw new Error(`two sections would be called ${own}${name}`);
    return written;
  }
}

function describe(key: string, value: JsonSchema, isOptional: boolean): string {
  if (value.description === undefined) throw new Error(`${key} has no description`);
  const number = branches(value).find(({ type }) => type === 'integer');
  const isSection = branches(value).some(({ properties }) => properties !== undefined);
  const isShown =
    isOptional && value.default !== undefined && (!isSection || value.default === null);
  return [
    value.description,
    ...(number ? [`${rangeOf(key, number)}.`] : []),
    ...(isShown ? [`Default: \`${JSON.stringify(value.default)}\`.`] : []),
  ].join(' ');
}

function rangeOf(key: string, { minimum = 0, maximum = unlimited }: JsonSchema): string {
  const unit = /Ms$/.test(key)
    ? 'Milliseconds'
    : /Bytes$/.test(key)
      ? 'Bytes'
      : /Mb$/.test(key)
        ? 'Mebibytes'
        : 'A whole number';
  return `${unit}, ${maximum === unlimited ? `at least ${minimum}` : `${minimum} to ${maximum}`}`;
}

function block(members: Iterable<string>): string {
  return `{\n${[...members].join('')}}`;
}

const width = 100;

/** A comment that fits the width, on one line if it can. */
function comment(text: string, indent: string): string {
  const line = `${indent}/** ${text} */`;
  if (line.length <= width) return `${line}\n`;
  const lines = [''];
  for (const word of text.replaceAll('*/', '*\\/').split(' ')) {
    const last = lines.at(-1) ?? '';
    const longer = last === '' ? word : `${last} ${word}`;
    if (`${indent} * ${longer}`.length <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return `${indent}/**\n${lines.map((one) => `${indent} * ${one}\n`).join('')}${indent} */\n`;
}

function quoted(option: unknown): string {
  return typeof option === 'string' ? `'${option}'` : JSON.stringify(option);
}

function branches(place: JsonSchema): JsonSchema[] {
  return (place.oneOf ?? place.anyOf ?? [place]).filter((option) => typeof option === 'object');
}
