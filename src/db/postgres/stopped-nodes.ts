import type { Client } from 'pg'
import { runScript } from './connection.ts'

/** Why the database cannot be changed offline: a node was neither stopped cleanly nor retired. undefined: none. */
export async function findRunningNode(client: Client): Promise<string | undefined> {
  const [rows = []] = await runScript(client, `select min(id) as id from nodes where state = 'running'`)
  const id = rows[0]?.['id']
  if (typeof id !== 'string') return undefined
  return `Node ${id} runs, or was not stopped cleanly: stop it, or start and stop it once more, or retire it with \`sluice node retire\` at another node.`
}
