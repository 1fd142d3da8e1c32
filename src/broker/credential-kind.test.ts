// What is known of a credential before anybody is asked.

import { describe, expect, it } from 'vitest';
import { assertLinkable } from './open-link.ts';

const url = 'ws://127.0.0.1:4200';

describe('a credential of the embedded broker', () => {
  it.each(['hfw_abc\n', 'hfw_a bc', 'hfw_é', ''])(
    'that cannot be one is refused before anybody is asked: %j #broker-identity',
    (credential) => {
      const linkable = () => assertLinkable({ url, credential, holder: 'worker' });
      expect(linkable).toThrow(expect.objectContaining({ reason: 'unsupported' }));
    },
  );

  it('is accepted as it was printed', () => {
    expect(assertLinkable({ url, credential: 'hfw_abc', holder: 'worker' })).toBe('embedded');
  });
});
