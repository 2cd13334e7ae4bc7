import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { apiError, type ApiErrorCode } from '../errors.ts'
import { maxRejectionRows, type Rejection } from './rejection.ts'
import { RejectionReports } from './rejection-reports.ts'

const minute = Date.UTC(2026, 10, 23, 12, 30)

function startReports() {
  const reported: Rejection[] = []
  const clock = { ms: minute }
  const reports = new RejectionReports(
    (rejection) => reported.push(rejection),
    () => clock.ms,
  )
  let requests = 0
  const reject = (key: string, code: ApiErrorCode, model = 'm', stream = true): void => {
    const caller = { accountId: `account of ${key}`, keyId: key }
    reports.record(apiError(code), { id: `req_${(requests += 1)}`, caller, request: { model, stream } })
  }
  return { reported, clock, reports, reject }
}

describe('rejection reports', () => {
  test('flood of one key – is 60 reports, and then a sum for each code', () => {
    const { reported, reports, reject } = startReports()
    for (let count = 0; count < 1000; count += 1)
      reject('key_1', count % 4 === 0 ? 'model_not_found' : 'rate_limit_exceeded')
    assert.equal(reported.length, maxRejectionRows)
    assert.deepEqual(
      reported.slice(0, 2).map(({ id, at, account, status, code, model, stream, count }) => {
        return { id, at, account, status, code, model, stream, count }
      }),
      ['model_not_found', 'rate_limit_exceeded'].map((code, index) => {
        const [id, at, account] = [`req_${index + 1}`, minute, 'account of key_1']
        return { id, at, account, status: index === 0 ? 404 : 429, code, model: 'm', stream: true, count: 1 }
      }),
    )
    reports.flush()
    assert.deepEqual(
      reported.slice(maxRejectionRows).map(({ id, code, count }) => ({ id, code, count })),
      [
        { id: 'req_61', code: 'model_not_found', count: 250 - 15 },
        { id: 'req_62', code: 'rate_limit_exceeded', count: 750 - 45 },
      ],
    )
    reports.flush()
    assert.equal(reported.length, maxRejectionRows + 2)
  })

  test('another key, and the next minute – are reported one by one again', () => {
    const { reported, clock, reports, reject } = startReports()
    for (let count = 0; count < 100; count += 1) reject('key_1', 'insufficient_quota')
    reject('key_2', 'insufficient_quota')
    clock.ms += 59_999
    reject('key_1', 'insufficient_quota')
    assert.deepEqual(
      reported.slice(maxRejectionRows).map(({ key }) => key),
      ['key_2'],
    )
    clock.ms += 1
    reject('key_1', 'insufficient_quota')
    assert.equal(reported.length, maxRejectionRows + 2)
    reports.flush()
    assert.equal(reported.at(-1)?.count, 41)
  })

  test('sum – names a model only if all its requests named it', () => {
    const { reported, reports, reject } = startReports()
    for (let count = 0; count < maxRejectionRows; count += 1) reject('key_1', 'model_not_found')
    for (const model of ['a', 'a', 'b']) reject('key_1', 'model_not_found', model)
    for (const stream of [true, false]) reject('key_1', 'insufficient_quota', 'x'.repeat(1000), stream)
    reports.flush()
    assert.deepEqual(
      reported.slice(maxRejectionRows).map(({ model, stream, count }) => ({ model, stream, count })),
      [
        { model: '', stream: true, count: 3 },
        { model: 'x'.repeat(256), stream: false, count: 2 },
      ],
    )
  })
})
