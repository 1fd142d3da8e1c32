// The kinds of mail between a worker and its orchestrator (docs/broker.md). Requests and replies are kept by the
// broker where they may have an effect; everything else is told.

export const mailKinds = {
  /** To the orchestrator: a JSON-RPC request of the modern era; what the letter is about is the call id. */
  request: 'mcp-request',
  /** To the worker: the response, or where a larger one can be had (`parcel.ts`). */
  reply: 'mcp-reply',
  /** To the worker: a notification that belongs to a request. */
  news: 'mcp-news',
  /** To the orchestrator: the answer to a request is not wanted any more. */
  cancel: 'mcp-cancel',
  /** To the orchestrator: a part of a large response, please. */
  pull: 'mcp-pull',
  /** To the worker: such a part. */
  chunk: 'mcp-chunk',
  /** To workers: an orchestrator has come, and knows nothing of what was told to an earlier one. */
  here: 'mcp-here',
} as const;

/** What is kept for a worker; the rest is only told. */
export const workerKinds: readonly string[] = [mailKinds.reply];

/** What is kept for an orchestrator. */
export const orchestratorKinds: readonly string[] = [mailKinds.request];
