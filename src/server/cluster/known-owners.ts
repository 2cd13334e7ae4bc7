/** Owners whose rows are there, as far as a node knows: rows stay, so each is made sure of once. */
import type { Client } from 'pg'
import { insertOwners } from '../../db/postgres/ledger-rows.ts'

const most = 500_000

export class KnownOwners {
  readonly #known = new Set<string>()

  async make(client: Client, owners: readonly string[]): Promise<void> {
    const unknown = owners.filter((id) => !this.#known.has(id))
    if (unknown.length === 0) return
    await insertOwners(client, unknown)
    if (this.#known.size > most) this.#known.clear()
    for (const id of unknown) this.#known.add(id)
  }
}
