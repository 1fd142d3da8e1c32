// The public API of the library. Every name exported here is a promise; everything else may change.

export type { CacheStats } from './cache/cache.ts';
export type { SearchHit, SearchOutcome } from './catalog/search.ts';
export type { JsonObject } from './catalog/tool.ts';
export type {
  BrokerInput,
  BudgetInput,
  CacheInput,
  CircuitInput,
  CommonServerInput,
  ConfigInput,
  HttpInput,
  LimitsInput,
  LocalInput,
  RemoteLimitsInput,
  RemoteServerInput,
  RestartInput,
  RoleInput,
  ServerInput,
  StdioServerInput,
  TelemetryInput,
  ToolInput,
} from './config/config-input.ts';
export type { ConfigPlan, ServerChange, SettingChange } from './config/plan.ts';
export { type ConnectWorkerOptions, connectWorker } from './fleet/worker/connect-worker.ts';
export type { AppliedConfig, ServerCause } from './host/apply.ts';
export type {
  AudioContent,
  BlobResource,
  CallResult,
  ContentAnnotations,
  ContentBlock,
  ContentMembers,
  EmbeddedResource,
  ImageContent,
  OtherContent,
  OtherKind,
  Progress,
  ResourceLink,
  TextContent,
  TextResource,
  UnknownKind,
} from './host/call-result.ts';
export { createHost, type HostOptions } from './host/create-host.ts';
export type { Discovered, KeptMark, Searched, ToolDefinition } from './host/discovery.ts';
export type {
  ApplyOptions,
  CallOptions,
  DiscoverOptions,
  Host,
  LeaseOptions,
  SearchOptions,
  ServerSpec,
  SpawnOptions,
  StatusOptions,
  ToolsOptions,
} from './host/host.ts';
export type { RolloutPhase, RolloutStatus } from './host/rollout-status.ts';
export type {
  AuditStatus,
  HostStatus,
  ServerChild,
  ServerState,
  ServerStatus,
  TimedFaultRecord,
} from './host/status.ts';
export {
  type Dispatched,
  Fault,
  type FaultCode,
  type FaultFacts,
  type FaultRecord,
  type RpcError,
} from './kernel/fault.ts';
export type { Handled } from './observe/defects.ts';
export type { HostEvent, Noise } from './observe/events.ts';
export type { NoiseCounts } from './observe/noise-text.ts';
export type { CallCounts } from './observe/traffic.ts';
export type { AccessRequest, Action, Guard, Kind, Verdict } from './policy/access.ts';
export type { BudgetLimits } from './policy/budget.ts';
export type { Principal } from './policy/principal.ts';
export type { BudgetStatus, SpentLimit } from './policy/role-budgets/budget-status.ts';
export type { StoreHealth } from './store/store.ts';
export type { Containment } from './supervise/child.ts';
export type { Lease } from './supervise/leases.ts';
