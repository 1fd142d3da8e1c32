// The proofs that there are and how large each is: in `npm run proof`, whose figures are published,
// and in `npm run soak`, for a night. Every one is a program of its own that can be run alone.

export interface Step {
  readonly name: string;
  /** The npm script that runs it alone. */
  readonly script: string;
  readonly sizes: Readonly<Record<Size, readonly string[]>>;
}

export const sizes = ['proof', 'soak'] as const;
export type Size = (typeof sizes)[number];

export const steps: readonly Step[] = [
  {
    name: 'simulation',
    script: 'simulate',
    sizes: {
      proof: ['--seeds', '1000', '--minutes', '10', '--twice'],
      soak: ['--seeds', '20000', '--minutes', '60', '--twice'],
    },
  },
  {
    name: 'chaos',
    script: 'chaos',
    sizes: { proof: ['--seconds', '180'], soak: ['--seconds', '1800'] },
  },
  {
    name: 'crashes',
    script: 'crashtest',
    sizes: { proof: ['--kills', '200'], soak: ['--kills', '2000'] },
  },
  {
    name: 'fuzzing',
    script: 'fuzz',
    sizes: {
      proof: ['--documents', '1000000', '--seconds', '20'],
      soak: ['--documents', '50000000', '--seconds', '900'],
    },
  },
  {
    name: 'slow clients',
    script: 'slowclients',
    sizes: { proof: ['--rounds', '3'], soak: ['--rounds', '20'] },
  },
  {
    name: 'strangers',
    script: 'strangers',
    sizes: { proof: [], soak: ['--requests', '1000000', '--names', '20000'] },
  },
  {
    name: 'fleet',
    script: 'fleet',
    sizes: { proof: [], soak: ['--kills', '500', '--cuts', '200', '--netns', '80'] },
  },
  {
    name: 'rollouts',
    script: 'rollouts',
    sizes: { proof: [], soak: ['--rollouts', '500', '--kills', '100'] },
  },
  {
    name: 'load',
    script: 'load',
    sizes: {
      proof: [],
      soak: ['--responses', '2000000', '--sessions', '10000'],
    },
  },
  { name: 'controls', script: 'controls', sizes: { proof: [], soak: [] } },
];
