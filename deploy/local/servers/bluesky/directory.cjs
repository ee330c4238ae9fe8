// The directory of identities, with a database in memory: node directory.cjs PORT
const { Database, PlcServer } = require('@did-plc/server')

const directory = PlcServer.create({ db: Database.mock(), port: Number(process.argv[2]) })
directory.start()
process.on('SIGTERM', () => process.exit(0))
