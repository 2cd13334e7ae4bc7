/**
 * Verifies a history: compares what clients received, what the upstreams sent and what the relay charged, call by call
 * and in total. Nothing may be lost or duplicated, and no hold may stay open.
 */
import assert from 'node:assert/strict'
import { parseAmount } from '../../src/lib/money.ts'
import type { Account, RequestRecord } from '../support/server/account.ts'
import { billedUsage, type ObservedCall, type UpstreamMeter } from '../support/client/concurrent-clients.ts'
import type { TestServer } from '../support/server/test-server.ts'
import { numberedWords } from '../support/upstream/scripted-responses.ts'

/** In nanos per token. */
const price = { input: 2000n, output: 8000n }
export const historyPrices: [string, string] = ['0.002', '0.008']
const markLead = 64
const pageRows = 1000

const estimateTokens = (text: string): number => Math.ceil(text.length / 4)

async function listAllRecords(server: TestServer, account: Account): Promise<Map<string, RequestRecord>> {
  const records = new Map<string, RequestRecord>()
  for (let cursor: string | null = ''; cursor !== null;) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`
    const page: { data: RequestRecord[]; next: string | null } = await server.admin(
      'GET',
      `/requests?account=${account.id}&limit=${pageRows}${query}`,
    )
    for (const record of page.data) {
      assert.ok(!records.has(record.request_id), `${record.request_id} has two records`)
      records.set(record.request_id, record)
    }
    cursor = page.next
  }
  return records
}

function checkComplete(
  { name }: ObservedCall,
  record: RequestRecord | undefined,
  meter: UpstreamMeter,
): void {
  assert.ok(record, `${name} is complete but has no record`)
  assert.deepEqual([record.outcome, record.completion_tokens], ['ok', billedUsage(name).output], name)
  assert.ok((meter.completed.get(name) ?? 0) >= 1, `${name} was completed by no upstream`)
}

/** Rejected or interrupted: charged at most what was sent, and at least what was delivered less the last tokens. */
function checkIncomplete(call: ObservedCall, record: RequestRecord | undefined, meter: UpstreamMeter): void {
  const { name, text } = call
  const charged = record?.completion_tokens ?? 0
  if (record?.outcome === 'ok') return assert.equal(charged, billedUsage(name).output, name)
  const delivered = estimateTokens(text)
  const sent = estimateTokens(numberedWords(meter.words.get(name) ?? 0).join(''))
  assert.ok(charged >= delivered - markLead, `${name}: ${charged} charged of ${delivered} delivered`)
  assert.ok(charged <= sent, `${name}: ${charged} charged of ${sent} that the upstreams sent`)
}

/** Each record unknown to the clients belongs to one call whose connection broke before its response. */
function checkUnseen(
  records: Iterable<RequestRecord>,
  calls: readonly ObservedCall[],
  meter: UpstreamMeter,
): void {
  const bills = new Map<number, number>()
  for (const { name } of calls) {
    if (!meter.completed.has(name)) continue
    const { output } = billedUsage(name)
    bills.set(output, (bills.get(output) ?? 0) + 1)
  }
  let unseen = 0
  for (const { request_id: id, outcome, completion_tokens: tokens } of records) {
    unseen += 1
    if (outcome !== 'ok') continue
    const left = bills.get(tokens) ?? 0
    assert.ok(left > 0, `${id} was charged ${tokens} tokens that no client requested`)
    bills.set(tokens, left - 1)
  }
  assert.ok(unseen <= calls.length, `${unseen} records for ${calls.length} calls without a response`)
}

/** `balance`: the initial balance. */
export async function verifyHistory(
  server: TestServer,
  account: Account,
  calls: readonly ObservedCall[],
  expected: { readonly meter: UpstreamMeter; readonly balance: string },
): Promise<void> {
  const { meter, balance } = expected
  await server.assertNoOpenHolds()
  const records = await listAllRecords(server, account)
  const unseen = new Map(records)
  for (const call of calls) {
    const record = records.get(call.id)
    unseen.delete(call.id)
    if (call.isComplete) checkComplete(call, record, meter)
    else checkIncomplete(call, record, meter)
  }
  checkUnseen(
    unseen.values(),
    calls.filter(({ id }) => id === ''),
    meter,
  )
  let cost = 0n
  for (const record of records.values()) {
    const { prompt_tokens: input, completion_tokens: output } = record
    assert.equal(parseAmount(record.cost), BigInt(input) * price.input + BigInt(output) * price.output)
    cost += parseAmount(record.cost)
  }
  assert.equal(
    parseAmount(await account.balance()),
    parseAmount(balance) - cost,
    'the balance matches the records',
  )
  const { ok, drift, open_holds: open, overrun } = await server.verify()
  assert.deepEqual({ ok, drift, open, overrun }, { ok: true, drift: '0', open: 0, overrun: '0' })
}
