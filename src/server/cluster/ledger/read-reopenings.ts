/** The owners of a batch whose periods have not begun because a clock was ahead, and what they spent in the present ones. */
import type { Client } from 'pg'
import type { PeriodSpendingRow } from '../../../db/period-spending.ts'
import { numberParameters } from '../../../db/postgres/sql-text.ts'
import type { SharedOwnerRow } from '../../../db/postgres/lock-batch.ts'
import type { Statement } from '../../../db/statement.ts'
import type { Reopened } from '../../../ledger/events.ts'
import { periodsToReopen } from '../../../ledger/reopen.ts'
import { accountOwner, keyOwner, modelOwner } from '../../../ledger/state.ts'
import { readReopening } from '../../ledger/reopening.ts'
import type { QueuedOperation } from './queued-operations.ts'

/** Reads in the batch's transaction, while the owners are locked: whatever was charged to them is in the rows. */
export async function readReopenings(
  client: Client,
  operations: readonly QueuedOperation[],
  owners: readonly SharedOwnerRow[],
): Promise<Omit<Reopened, 'kind'>[]> {
  const rows = new Map(owners.map((row) => [row.id, row]))
  const reopenings = new Map<string, Omit<Reopened, 'kind'>>()
  const read = async ({ sql, parameters }: Statement): Promise<PeriodSpendingRow | undefined> =>
    (await client.query<PeriodSpendingRow>(numberParameters(sql), [...parameters])).rows[0]
  for (const operation of operations) {
    if (operation.kind !== 'hold') continue
    const { hold, timezone } = operation
    const { account, key, model, at } = hold
    for (const id of [accountOwner(account), keyOwner(key), modelOwner(account, model)]) {
      const row = rows.get(id)
      if (row === undefined || reopenings.has(id)) continue
      const ends = periodsToReopen({ dayEnd: row.day_end, monthEnd: row.month_end }, at, hold)
      if (ends !== null) reopenings.set(id, await readReopening(read, { id, timezone, at }, ends))
    }
  }
  return [...reopenings.values()]
}
