// An authorization server for tests: every user is alice, and agrees to everything.
//
// Usage: authorization.mjs. Prints its issuer on a line. It knows one client, without a secret; tokens are JSON Web Tokens for
// whichever server they are asked for.

import { once } from 'node:events';
import { createServer } from 'node:http';

import Provider from 'oidc-provider';

const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  scopes: ['notes:read', 'notes:write'],
  clients: [
    {
      client_id: 'interop',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['http://127.0.0.1:9/callback'],
    },
  ],
  pkce: { required: () => true },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, audience) => ({
        scope: 'notes:read notes:write',
        audience,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 600,
      }),
      useGrantedResource: () => true,
    },
  },
});

// The page on which a user would consent.
async function decide({ prompt, grantId, session, params }) {
  if (prompt.name === 'login') return { login: { accountId: 'alice' } };
  const before = grantId && (await provider.Grant.find(grantId));
  const grant = before || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  if (prompt.details.missingOIDCScope) grant.addOIDCScope(prompt.details.missingOIDCScope.join(' '));
  for (const [resource, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '));
  }
  return { consent: { grantId: await grant.save() } };
}

const callback = provider.callback();
server.on('request', async (request, response) => {
  if (!request.url.startsWith('/interaction/')) return callback(request, response);
  const decision = await decide(await provider.interactionDetails(request, response));
  await provider.interactionFinished(request, response, decision, { mergeWithLastSubmission: true });
});
console.log(issuer);
