// What is answered where there is nothing: which paths there are, in the same words whether a server or role exists
// or not; and, to clients that look for OAuth, how a credential is sent here instead.

/** Paths at which clients look for OAuth: RFC 8414, RFC 9728, OpenID, and the defaults of MCP. */
const ofOauth = /^\/(?:\.well-known\/(?:oauth-|openid-)|(?:register|authorize|token)$)/;

const nowhere = {
  error:
    'not found: MCP is served at /mcp; one server of it at /mcp/s/SERVER and what a role may use at /mcp/r/ROLE, where that leaves something; at /sse for clients of 2024-11-05; no path ends in a slash',
};

const noOauth = {
  error:
    'not found: there is no OAuth here; send the header "Authorization: Bearer TOKEN" with a token that whoever runs this gateway has made',
};

export function notFoundAt(target: string): { readonly error: string } {
  return ofOauth.test(target.split('?', 1)[0] ?? '') ? noOauth : nowhere;
}
