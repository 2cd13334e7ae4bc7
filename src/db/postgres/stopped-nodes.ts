import type { Client } from 'pg'
import { queryValue } from './connection.ts'

/** Why the database cannot be changed offline: a node was neither stopped cleanly nor retired. undefined: none. */
export async function findRunningNode(client: Client): Promise<string | undefined> {
  const id = await queryValue(client, `select min(id) from nodes where state = 'running'`)
  if (id === undefined) return undefined
  return `Node ${id} runs, or was not stopped cleanly: stop it, or start and stop it once more, or retire it with \`sluice node retire\` at another node.`
}
