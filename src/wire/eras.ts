// The two eras of the protocol, as constants. Modern (2026-07-28 and later) carries version,
// identity and capabilities in every request; legacy (up to 2025-11-25) agrees on them once, in
// `initialize`. Which one a peer speaks is decided elsewhere (upstream/negotiate.ts).

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

/** Keys of a modern request's `_meta`. */
export const envelopeKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

/** JSON-RPC error codes with a meaning to us. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** Legacy, 2025-11-25: somebody has to visit an address first. */
  urlElicitationRequired: -32042,
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedProtocolVersion: -32022,
} as const;
