import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { RequestRow } from '../db/ledger-commit.ts'
import { apiError } from '../errors.ts'
import { maxRejectionRows, minuteMs, type Rejection } from './rejection.ts'
import { RejectionRecorder } from './rejection-recorder.ts'
import { RejectionReports } from './rejection-reports.ts'

const minute = Date.UTC(2026, 10, 23, 12, 30)

function rejectionOf(id: string, fields: Partial<Rejection> = {}): Rejection {
  return {
    id,
    at: 0,
    account: 'acc',
    key: 'key_1',
    code: 'rate_limit_exceeded',
    status: 429,
    model: 'm',
    stream: false,
    count: 1,
    ...fields,
  }
}

function startRecorder(now?: () => number) {
  const clock = { ms: minute }
  const rows: RequestRow[] = []
  const lines: Readonly<Record<string, unknown>>[] = []
  const written = Promise.withResolvers<RequestRow>()
  const sink = {
    recordRequest(row: RequestRow): void {
      rows.push(row)
      if (row.count > 1) written.resolve(row)
    },
  }
  const log = { line: (fields: Readonly<Record<string, unknown>>) => void lines.push(fields) }
  const recorder = new RejectionRecorder(sink, log, now ?? (() => clock.ms))
  return { clock, rows, lines, recorder, sumWritten: written.promise }
}

const sumOf = (rows: readonly RequestRow[]): number => rows.reduce((sum, { count }) => sum + count, 0)

describe('rejection recorder', () => {
  test('rejection – has a row without cost and a log line at once', () => {
    const { rows, lines, recorder } = startRecorder()
    recorder.record(rejectionOf('req_1', { stream: true }))
    assert.partialDeepStrictEqual(rows, [
      {
        request_id: 'req_1',
        at: minute,
        account_id: 'acc',
        key_id: 'key_1',
        model: 'm',
        http_status: 429,
        outcome: 'refused',
        stream: 1,
        error_code: 'rate_limit_exceeded',
        cost_nanos: 0n,
        hold_nanos: 0n,
        count: 1,
      },
    ])
    const line = { request: 'req_1', account: 'acc', key: 'key_1', model: 'm', status: 429 }
    assert.deepEqual(lines, [{ ...line, code: 'rate_limit_exceeded', count: undefined }])
  })

  test('flood from two workers – is 60 rows and one for each code when the minute ends', () => {
    const { clock, rows, lines, recorder } = startRecorder()
    for (let count = 0; count < 60; count += 1)
      for (const worker of ['a', 'b']) recorder.record(rejectionOf(`req_${worker}${count}`))
    const missing = { code: 'model_not_found', status: 404 } as const
    for (const second of [1, 2, 3]) {
      clock.ms = minute + second * 1000
      recorder.record(rejectionOf(`req_a_${second}`, { count: 1000 }))
      recorder.record(rejectionOf(`req_b_${second}`, { count: 500, ...missing }))
      recorder.record(rejectionOf(`req_other_${second}`, { key: 'key_2' }))
    }
    assert.equal(rows.length, maxRejectionRows + 3)
    assert.ok(rows.every(({ count }) => count === 1))
    clock.ms = minute + minuteMs
    recorder.record(rejectionOf('req_next'))
    const sums = rows.filter(({ count }) => count > 1)
    assert.deepEqual(
      sums.map((row) => [row.request_id, row.at, row.http_status, row.count]),
      [
        ['req_a30', minute, 429, 60 + 3000],
        ['req_b_1', minute + 1000, 404, 1500],
      ],
    )
    assert.equal(rows.at(-1)?.request_id, 'req_next')
    assert.equal(rows.filter(({ key_id: key }) => key === 'key_2').length, 3)
    assert.equal(recorder.summed, 60 + 4500)
    assert.deepEqual(
      lines.map(({ request, count }) => [request, count ?? 1]),
      rows.map((row) => [row.request_id, row.count]),
    )
  })

  test('end of a minute – writes the sums without a further rejection', async () => {
    const startedMs = performance.now()
    const { rows, recorder, sumWritten } = startRecorder(
      () => minute + minuteMs - 50 + Math.floor(performance.now() - startedMs),
    )
    for (let count = 0; count < maxRejectionRows; count += 1) recorder.record(rejectionOf(`req_${count}`))
    recorder.record(rejectionOf('req_sum', { count: 7 }))
    // The timer keeps no process alive, so this does.
    const alive = setInterval(() => undefined, 1000)
    assert.equal((await sumWritten).request_id, 'req_sum')
    clearInterval(alive)
    assert.equal(sumOf(rows), maxRejectionRows + 7)
  })

  test('close – writes the sums of the running minute once', () => {
    const { rows, recorder } = startRecorder()
    recorder.record(rejectionOf('req_1', { count: 8000 }))
    assert.equal(rows.length, 0)
    recorder.close()
    recorder.close()
    assert.deepEqual(
      rows.map(({ count }) => count),
      [8000],
    )
  })

  test('any rejections – are all counted, in bounded rows per key and minute', () => {
    const codes = ['rate_limit_exceeded', 'insufficient_quota', 'model_not_found'] as const
    const step = fc.record({
      worker: fc.nat(1),
      key: fc.constantFrom('key_1', 'key_2'),
      code: fc.constantFrom(...codes),
      times: fc.integer({ min: 1, max: 100 }),
      waitMs: fc.constantFrom(0, 1, 1000, 30_000, minuteMs),
      flush: fc.boolean(),
    })
    const property = fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { clock, rows, recorder } = startRecorder()
      const record = (rejection: Rejection): void => recorder.record(rejection)
      const workers = [0, 1].map(() => new RejectionReports(record, () => clock.ms))
      let requests = 0
      for (const { worker, key, code, times, waitMs, flush } of steps) {
        clock.ms += waitMs
        for (let count = 0; count < times; count += 1) {
          const caller = { accountId: 'acc', keyId: key }
          const call = { id: `req_${(requests += 1)}`, caller, request: { model: 'm', stream: false } }
          workers[worker]?.record(apiError(code), call)
        }
        if (flush) workers[worker]?.flush()
      }
      for (const worker of workers) worker.flush()
      recorder.close()
      assert.equal(sumOf(rows), requests)
      assert.equal(new Set(rows.map((row) => row.request_id)).size, rows.length)
      const minutes = Map.groupBy(rows, (row) => `${row.key_id} ${Math.floor(row.at / minuteMs)}`)
      for (const inMinute of minutes.values()) {
        const sums = inMinute.filter(({ count }) => count > 1)
        assert.equal(new Set(sums.map((row) => row.error_code)).size, sums.length)
        assert.ok(inMinute.length <= maxRejectionRows + codes.length)
      }
    })
    fc.assert(property, { numRuns: 100 })
  })
})
