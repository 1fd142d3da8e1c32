export const coveredCalls: readonly string[];
export const coveredMethods: readonly string[];
