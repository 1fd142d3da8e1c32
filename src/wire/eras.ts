// Constants of the two eras of the protocol. Modern (2026-07-28 and later) has version, identity
// and capabilities in every request; legacy (up to 2025-11-25) agrees on them once, in
// `initialize`. upstream/negotiate.ts decides which one a server supports.

export type Era = 'legacy' | 'modern';

export const modernVersion = '2026-07-28';

/** Newest first: the first is what we offer, all are accepted. */
export const legacyVersions = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
] as const;

export const latestLegacyVersion = legacyVersions[0];

/** The only version that has batches. */
export const batchVersion = '2025-03-26';

/** The first version whose clients treat an event without data as a request to reconnect. */
export const primedVersion = '2025-11-25';

/** Keys of `_meta`. */
export const envelopeKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  /** Legacy, 2025-11-25: the task that a message belongs to. */
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const;

/** Names of extensions, in the capabilities of either side. */
export const extensionNames = {
  tasks: 'io.modelcontextprotocol/tasks',
  skills: 'io.modelcontextprotocol/skills',
  ui: 'io.modelcontextprotocol/ui',
} as const;

/** JSON-RPC error codes that Holdfast uses. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /**
   * For requests that HTTP refuses before JSON-RPC; the specification gives these two no meaning.
   */
  refusedByHttp: -32000,
  sessionNotFound: -32001,
  /** Legacy: `initialize` comes first. */
  notInitialized: -32002,
  /** Legacy, 2025-11-25: the user has to visit a URL first. */
  urlElicitationRequired: -32042,
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedProtocolVersion: -32022,
} as const;
