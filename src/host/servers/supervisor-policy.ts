// Derives the supervision policy from a server's config: how often and how fast it is restarted,
// when its circuit opens, how long it is kept.

import type { ServerConfig } from '../../config/schema.ts';
import type { SupervisorPolicy } from '../../supervise/supervisor.ts';

/** A remote server comes back by itself, however long it was away: its delay grows to this. */
const longestRemoteDelayMs = 300_000;
const firstRemoteDelayMs = 500;
const healthyMs = 60_000;

export function policyOf(config: ServerConfig): SupervisorPolicy {
  const { circuit, keepAliveMs, startTimeoutMs, callTimeoutMs } = config;
  return {
    restart: {
      max: config.restart?.max ?? null,
      windowMs: config.restart?.windowMs ?? longestRemoteDelayMs,
      minDelayMs: config.restart?.minDelayMs ?? firstRemoteDelayMs,
      maxDelayMs: config.restart?.maxDelayMs ?? longestRemoteDelayMs,
      healthyMs,
    },
    // Every exit path of a call releases the slot; the expiry is for unforeseen cases.
    circuit: { ...circuit, probeMs: startTimeoutMs + callTimeoutMs },
    keepAliveMs,
    startTimeoutMs,
  };
}
