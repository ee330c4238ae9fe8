// A provider that asks for PKCE, gives access for a minute, and another refresh token at each use: one that is used twice ends the log-in.
import { Provider } from 'oidc-provider'

const port = Number(process.env.PORT)
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: 'app',
    client_secret: 'app-secret',
    redirect_uris: [process.env.REDIRECT_URI],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  }],
  cookies: { keys: ['of-a-test'] },
  pkce: { required: () => true },
  issueRefreshToken: async () => true,
  rotateRefreshToken: () => true,
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  features: { devInteractions: { enabled: true } },
  ttl: { AccessToken: 60, Grant: 3600, Interaction: 600, RefreshToken: 3600, Session: 3600 },
})
provider.listen(port, '127.0.0.1')
