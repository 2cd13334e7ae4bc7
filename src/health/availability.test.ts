import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileQuery, type Db, type Query } from '../db/db.ts'
import { openTemporaryDb } from '../db/store.fixture.ts'
import { sumByModelSince } from './availability.ts'

describe('availability', () => {
  test('sumByModelSince – reads the minutes since the time only, not those of all weeks', async (t) => {
    const db = await openTemporaryDb(t)
    let plan = ''
    const explainingDb: Db = {
      ...db,
      async report<Result>(query: Query<Result>) {
        const { sql, parameters } = compileQuery(query)
        const steps = await db.all<{ detail: string }>({ sql: `explain query plan ${sql}`, parameters })
        plan = steps.map(({ detail }) => detail).join(', ')
        return db.report(query)
      },
    }
    await sumByModelSince(explainingDb, 0)
    assert.match(plan, /^SEARCH availability_minutes USING INDEX availability_minutes_by_minute/)
  })
})
