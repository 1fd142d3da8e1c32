// The generated types of a config and the schema accept the same: the compiler compares them, so a
// difference fails `npm run typecheck`.

import { describe, expectTypeOf, it } from 'vitest';
import type * as z from 'zod';
import type { ConfigInput, ServerInput } from './config-input.ts';
import type { Frozen } from './frozen.ts';
import type { configSchema } from './schema.ts';
import type { serverSchema } from './server-schema.ts';

/** The same type with its interfaces written out, so that only keys and types are compared. */
type Plain<T> = Frozen<T>;

describe('the generated types', () => {
  it('of a config accept what the schema accepts, key by key #typed-config', () => {
    expectTypeOf<Plain<ConfigInput>>().toEqualTypeOf<Plain<z.input<typeof configSchema>>>();
  });

  it("of a server's entry accept what the schema accepts, key by key", () => {
    expectTypeOf<Plain<ServerInput>>().toEqualTypeOf<Plain<z.input<typeof serverSchema>>>();
  });

  it('would differ by one missing key, one other type, one key more', () => {
    type Schema = Plain<z.input<typeof configSchema>>;
    expectTypeOf<Plain<Omit<ConfigInput, 'drainMs'>>>().not.toEqualTypeOf<Schema>();
    expectTypeOf<Plain<ConfigInput & { drainMs: string }>>().not.toEqualTypeOf<Schema>();
    expectTypeOf<Plain<ConfigInput & { more?: string }>>().not.toEqualTypeOf<Schema>();
  });
});
