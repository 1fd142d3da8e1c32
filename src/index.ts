// The public API of the library. Every name exported here is a promise; everything else is ours to
// change.

export type { CacheStats } from './cache/cache.ts';
export type { SearchHit, SearchOutcome } from './catalog/search.ts';
export { createHost, type HostOptions } from './host/create-host.ts';
export type { Discovered } from './host/discovery.ts';
export type { CallOptions, CallResult, Host, Progress, ServerSpec } from './host/host.ts';
export type { HostStatus, ServerStatus } from './host/status.ts';
export { type Dispatched, Fault, type FaultCode, type FaultRecord } from './kernel/fault.ts';
export type { HostEvent } from './observe/events.ts';
export type { AccessRequest, Action, Guard, Kind, Verdict } from './policy/access.ts';
export type { BudgetLimits } from './policy/budget.ts';
export type { Principal } from './policy/principal.ts';
export type { Lease } from './supervise/leases.ts';
