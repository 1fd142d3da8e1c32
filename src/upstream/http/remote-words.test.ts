import { describe, expect, it } from 'vitest';
import { networkWords } from './remote-words.ts';

describe('a connection that fails', () => {
  it.each([
    ['ENOTFOUND', /host name does not exist/],
    ['EAI_AGAIN', /cannot be resolved/],
    ['ECONNREFUSED', /refused/],
    ['UND_ERR_CONNECT_TIMEOUT', /no connection within/],
    ['CERT_HAS_EXPIRED', /^TLS: .*expired/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /^TLS: .*not trusted/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /^TLS: .*not trusted/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /^TLS: .*not trusted/],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /^TLS: .*not trusted/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /^TLS: .*another host name/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /^TLS: .*does not use TLS/],
    ['EPROTO', /^TLS: /],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', /^TLS: /],
    ['ECONNRESET', /was closed/],
    ['UND_ERR_SOCKET', /was closed/],
    ['EHOSTUNREACH', /network/],
    ['constructor', /network/],
  ])('has a message: %s', (code, what) => {
    const words = networkWords(code);
    expect(words.what).toMatch(what);
    expect(words.remedy).not.toBe('');
  });
});
