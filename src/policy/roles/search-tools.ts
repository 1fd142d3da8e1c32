// The gateway's tools through which all others are found and called where `surface` is `search`. They say
// only what a role may see and call only what it may call, so every role that is not denied them has them.

export const searchToolNames = ['search_tools', 'describe_tool', 'call_tool'] as const;
