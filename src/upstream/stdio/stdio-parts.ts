// What a connection to a server on stdio is created from.

import type { Redactor } from '../../kernel/redactor.ts';
import type { WriteLine } from '../../observe/server-output.ts';
import type { Adopt, ChildSpec, Spawn } from '../../supervise/child.ts';
import type { ConnectionParts } from '../server-connection.ts';

export interface StdioConnectionParts extends ConnectionParts {
  readonly spec: ChildSpec;
  readonly spawn: Spawn;
  /** Takes over a process of the serving process before this one; absent: there is none. */
  readonly adopt?: Adopt;
  /** Replaces the secrets that the child was given; none if absent. */
  readonly redactor?: Redactor;
  /** Where what it writes that is not MCP is written down. */
  readonly output?: WriteLine;
}
