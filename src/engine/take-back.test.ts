// @suite all – starts PostgreSQL
/** Credits and their take-backs over both stores, across lost answers, crashes and several nodes. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Db } from '../db/db.ts'
import { databaseFileName } from '../db/sqlite/store.ts'
import { openTemporaryStore } from '../db/store.fixture.ts'
import { postgresSkipReason } from '../db/postgres/postgres.fixture.ts'
import { paybackUndoneIds } from '../ledger/payback-ids.ts'
import type { TakeBackResult } from '../ledger/take-back.ts'
import { openPostgres, recoverCredits, stores } from './credits.fixture.ts'
import type { Credits, TakeBackRequest } from './credits.ts'
import type { CommitFault } from './postgres/faulty-connection.fixture.ts'
import type { CommitSink } from './sqlite/commit-queue.ts'
import { verifyFile } from './verification/served-ledger.fixture.ts'

const account = 'acc'

function pay(credits: Credits, id: string, amount: bigint): Promise<unknown> {
  return credits.enterWithId(id, { account, amount, source: 'payment', reason: 'a payment' })
}

function refund(id: string, mode: TakeBackRequest['mode'], payment: bigint, bonus: bigint): TakeBackRequest {
  const parts = [
    { kind: 'payment', amount: payment },
    { kind: 'bonus', amount: bonus },
  ] as const
  return { id, account, parts, mode }
}

/** The entries of paybacks, oldest first. */
async function paybacks(db: Db): Promise<unknown[]> {
  const rows = await db.all<{
    seq: number
    ref: string
    source: string
    debit: string
    amount_nanos: bigint
  }>({
    sql: `select seq, ref, source, debit, amount_nanos from entries where ref like 'payback%' order by id`,
    parameters: [],
  })
  const [first] = rows
  return rows.map(({ seq, ref, source, debit, amount_nanos: amount }) => {
    const signed = debit.startsWith('account:') ? -amount : amount
    return [seq - (first?.seq ?? 0), ref, source, signed]
  })
}

for (const { name, skip, open } of stores) {
  describe(`takeBack on ${name}`, () => {
    test('both parts – are written in one commit, and given back exactly', { skip }, async (t) => {
      const { credits, db, verify } = await open(t)
      await pay(credits, 'payment:bank:m:1', 110n)
      assert.deepEqual(await credits.takeBack(refund('r1', 'all', 100n, 11n)), {
        kind: 'too-much',
        free: 110n,
      })
      assert.deepEqual(await credits.takeBack(refund('r1', 'all', 100n, 10n)), {
        kind: 'taken',
        payment: 100n,
        bonus: 10n,
        balance: 0n,
      })
      assert.partialDeepStrictEqual(await credits.takeBack(refund('r2', 'available', 5n, 0n)), {
        payment: 0n,
      })
      const ids = paybackUndoneIds('r1')
      for (const call of [1, 2]) {
        const order = { account, reason: 'refused' }
        await credits.enterWithId(ids.payment, { ...order, amount: 100n, source: 'payment' })
        const { balance, isNew } = await credits.enterWithId(ids.bonus, {
          ...order,
          amount: 10n,
          source: 'bonus',
        })
        assert.deepEqual([balance, isNew], [110n, call === 1])
      }
      assert.deepEqual(await paybacks(db), [
        [0, 'payback:r1', 'payment', -100n],
        [0, 'payback-bonus:r1', 'bonus', -10n],
        [1, 'payback:r2', 'payment', 0n],
        [2, 'payback-undone:r1', 'payment', 100n],
        [3, 'payback-bonus-undone:r1', 'bonus', 10n],
      ])
      assert.deepEqual((await verify()).findings, [])
    })

    test(
      'the same id, at once and by another process – takes once and answers the same',
      { skip },
      async (t) => {
        const { credits, db, another, verify } = await open(t)
        await pay(credits, 'payment:bank:m:1', 70n)
        const request = refund('r1', 'available', 60n, 20n)
        const answers = await Promise.all(Array.from({ length: 20 }, () => credits.takeBack(request)))
        await pay(credits, 'payment:bank:m:2', 500n)
        answers.push(await (await another()).takeBack(request))
        for (const answer of answers) assert.partialDeepStrictEqual(answer, { payment: 60n, bonus: 10n })
        assert.equal((await paybacks(db)).length, 2)
        assert.deepEqual((await verify()).findings, [])
      },
    )

    test('50 at once – never take more than there is', { skip }, async (t) => {
      const { credits, verify } = await open(t)
      await pay(credits, 'payment:bank:m:1', 200n)
      const calls = Array.from({ length: 50 }, (_, call) => {
        return credits.takeBack(refund(`r${call}`, call % 2 === 0 ? 'all' : 'available', 8n, 1n))
      })
      const taken = (await Promise.all(calls)).map((result: TakeBackResult) =>
        result.kind === 'taken' ? result.payment + result.bonus : 0n,
      )
      assert.equal(
        taken.reduce((sum, amount) => sum + amount, 0n),
        200n,
      )
      assert.deepEqual((await verify()).findings, [])
    })
  })
}

describe('takeBack across crashes', () => {
  test('killed between commit and answer – the repetition answers what was taken', async (t) => {
    const store = await openTemporaryStore(t)
    await pay(await recoverCredits(store, store), 'payment:bank:m:1', 70n)
    const committed = Promise.withResolvers<void>()
    const sink: CommitSink = {
      async commit(commit) {
        await store.commit(commit)
        committed.resolve()
        await new Promise(() => undefined)
      },
    }
    const killed = await recoverCredits(store, sink)
    const request = refund('r1', 'available', 60n, 20n)
    void killed.takeBack(request)
    await committed.promise
    const restarted = await recoverCredits(store, store)
    await pay(restarted, 'payment:bank:m:2', 500n)
    assert.deepEqual(await restarted.takeBack(request), {
      kind: 'taken',
      payment: 60n,
      bonus: 10n,
      balance: 500n,
    })
    assert.equal((await paybacks(store.db)).length, 2)
    assert.deepEqual((await verifyFile(join(store.dataDir, databaseFileName))).findings, [])
  })

  test(
    'connection lost around each commit – takes once, and answers what was taken',
    { skip: postgresSkipReason },
    async (t) => {
      let commits = 0
      const faults: CommitFault[] = ['pass', 'drop', 'commit and drop']
      const { credits, db, verify } = await openPostgres(t, () => faults[commits++ % faults.length] ?? 'pass')
      await pay(credits, 'payment:bank:m:1', 1000n)
      for (let call = 0; call < 12; call += 1) {
        assert.deepEqual(await credits.takeBack(refund(`r${call}`, 'all', 10n, 1n)), {
          kind: 'taken',
          payment: 10n,
          bonus: 1n,
          balance: 1000n - 11n * BigInt(call + 1),
        })
      }
      assert.ok(commits > 12, `${commits} commits`)
      assert.equal((await paybacks(db)).length, 24)
      assert.deepEqual((await verify()).findings, [])
    },
  )
})
