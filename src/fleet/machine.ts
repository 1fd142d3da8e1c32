// The shape of the pure machines of this folder: a state and an event give the next state and what is to be done.

export interface Effect<Name extends string> {
  readonly do: Name;
}

export type Step<State, Doing> = readonly [State, readonly Doing[]];
