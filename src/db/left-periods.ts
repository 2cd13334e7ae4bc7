/** The ends of periods that owners of the ledger left before they were over, because the clock had changed. */
import type { Db } from './db.ts'
import { getSetting } from './settings.ts'

export const leftPeriodsSetting = 'left_periods'

/** Of the setting's value. */
export function parseLeftPeriods(value: string | undefined): number[] {
  return value === undefined || value === '' ? [] : value.split(',').map(Number)
}

export async function loadLeftPeriods(db: Db): Promise<number[]> {
  return parseLeftPeriods(await getSetting(db, leftPeriodsSetting))
}

/** Adds each in one statement, because several nodes may do so at the same time. There are as many as wrong clocks. */
export async function addLeftPeriods(db: Pick<Db, 'write'>, ends: readonly number[]): Promise<void> {
  const statements = ends.map((end) => ({
    sql: `insert into settings (name, value) values (?, ?)
      on conflict (name) do update set value = settings.value || ',' || excluded.value
      where ',' || settings.value || ',' not like '%,' || excluded.value || ',%'`,
    parameters: [leftPeriodsSetting, String(end)],
  }))
  if (statements.length > 0) await db.write(...statements)
}
