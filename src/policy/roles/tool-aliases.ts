// The names that the config gives to tools (`tools.X.as`): a pattern may use such a name as well as the tool's
// own.

import { ownValue } from '../../kernel/own-value.ts';

/** The part of the config that has them. */
export interface AliasConfig {
  readonly mcpServers?: Readonly<
    Record<
      string,
      { readonly tools?: Readonly<Record<string, { readonly as?: string | null | undefined }>> }
    >
  >;
}

export class ToolAliases {
  readonly #servers: NonNullable<AliasConfig['mcpServers']>;

  constructor({ mcpServers = {} }: AliasConfig = {}) {
    this.#servers = mcpServers;
  }

  of(server: string, tool: string): string | undefined {
    const tools = ownValue(this.#servers, server)?.tools;
    return (tools && ownValue(tools, tool)?.as) || undefined;
  }

  /** All of one server. */
  ofServer(server: string): readonly string[] {
    const tools = ownValue(this.#servers, server)?.tools ?? {};
    return Object.values(tools).flatMap(({ as }) => (as ? [as] : []));
  }

  /** All there are. */
  all(): readonly string[] {
    return Object.keys(this.#servers).flatMap((server) => this.ofServer(server));
  }
}

export const noAliases = new ToolAliases();
