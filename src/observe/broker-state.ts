// What `status` tells about an orchestrator's link to its broker.

export interface BrokerState {
  readonly url: string;
  /** The mailbox of this gateway there. */
  readonly as: string;
  /** `connecting`: for the first time. `lost`: tried again soon. `refused`: somebody has to mend something. */
  readonly state: 'connected' | 'connecting' | 'refused' | 'lost' | 'closed';
  /** Since when that is so, in milliseconds since 1970. */
  readonly since: number;
  /** Why there was no link the last time that there was none; null: there was always one. */
  readonly lastError: { readonly text: string; readonly at: number } | null;
  /** How often a link was opened. */
  readonly links: number;
  /** How many workers have requests under way; one that is connected listens for changes. */
  readonly workers: number;
}
