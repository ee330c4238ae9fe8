// The PDS as its environment describes it, on the loopback interface alone: the package listens everywhere.
import http from 'node:http'

import { PDS, envToCfg, envToSecrets, readEnv } from '@atproto/pds'

const everywhere = http.Server.prototype.listen
http.Server.prototype.listen = function (port, ...others) {
  if (Number.isNaN(Number(port))) return everywhere.call(this, port, ...others)
  return everywhere.call(this, Number(port), '127.0.0.1', ...others.filter((each) => typeof each === 'function'))
}

const environment = readEnv()
const pds = await PDS.create(envToCfg(environment), envToSecrets(environment))
await pds.start()
process.on('SIGTERM', async () => {
  await pds.destroy()
  process.exit(0)
})
