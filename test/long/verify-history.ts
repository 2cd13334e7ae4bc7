/**
 * Proves a history: what callers were told, what the upstreams have sent, and what the relay has charged are held
 * against each other, call by call and in all. Nothing is lost, nothing is doubled, nothing stays held.
 */
import assert from 'node:assert/strict'
import { nanosOf } from '../../src/lib/money.ts'
import type { Account, RequestRecord } from '../support/server/account.ts'
import { billOf, type Told, type UpstreamMeter } from '../support/client/concurrent-clients.ts'
import type { House } from '../support/server/test-server.ts'
import { words } from '../support/upstream/scripted-responses.ts'

/** In nanos per token. */
const price = { input: 2000n, output: 8000n }
export const historyPrices: [string, string] = ['0.002', '0.008']
const markLead = 64
const pageRows = 1000

const estimateOf = (text: string): number => Math.ceil(text.length / 4)

async function recordsOf(house: House, account: Account): Promise<Map<string, RequestRecord>> {
  const records = new Map<string, RequestRecord>()
  for (let cursor: string | null = ''; cursor !== null;) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`
    const page: { data: RequestRecord[]; next: string | null } = await house.admin(
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

function checkWhole({ name }: Told, record: RequestRecord | undefined, meter: UpstreamMeter): void {
  assert.ok(record, `${name} was answered and has no record`)
  assert.deepEqual([record.outcome, record.completion_tokens], ['ok', billOf(name).output], name)
  assert.ok((meter.answered.get(name) ?? 0) >= 1, `${name} was answered by nobody`)
}

/** Refused or broken off: charged for no more than was sent, and for what was delivered but for the last tokens. */
function checkBroken(told: Told, record: RequestRecord | undefined, meter: UpstreamMeter): void {
  const { name, text } = told
  const charged = record?.completion_tokens ?? 0
  if (record?.outcome === 'ok') return assert.equal(charged, billOf(name).output, name)
  const delivered = estimateOf(text)
  const sent = estimateOf(words(meter.words.get(name) ?? 0).join(''))
  assert.ok(charged >= delivered - markLead, `${name}: ${charged} charged of ${delivered} delivered`)
  assert.ok(charged <= sent, `${name}: ${charged} charged of ${sent} that the upstreams sent`)
}

/** Records of which no caller knows belong to calls whose connections broke before anything came back; each to one. */
function checkUnseen(records: Iterable<RequestRecord>, calls: readonly Told[], meter: UpstreamMeter): void {
  const bills = new Map<number, number>()
  for (const { name } of calls) {
    if (!meter.answered.has(name)) continue
    const { output } = billOf(name)
    bills.set(output, (bills.get(output) ?? 0) + 1)
  }
  let unseen = 0
  for (const { request_id: id, outcome, completion_tokens: tokens } of records) {
    unseen += 1
    if (outcome !== 'ok') continue
    const left = bills.get(tokens) ?? 0
    assert.ok(left > 0, `${id} was charged ${tokens} tokens that no caller has asked for`)
    bills.set(tokens, left - 1)
  }
  assert.ok(unseen <= calls.length, `${unseen} records of ${calls.length} calls that nobody answered`)
}

/** `balance`: what the account began with. */
export async function proveHistory(
  house: House,
  account: Account,
  calls: readonly Told[],
  about: { readonly meter: UpstreamMeter; readonly balance: string },
): Promise<void> {
  const { meter, balance } = about
  await house.nothingHeld()
  const records = await recordsOf(house, account)
  const unseen = new Map(records)
  for (const told of calls) {
    const record = records.get(told.id)
    unseen.delete(told.id)
    if (told.isWhole) checkWhole(told, record, meter)
    else checkBroken(told, record, meter)
  }
  checkUnseen(
    unseen.values(),
    calls.filter(({ id }) => id === ''),
    meter,
  )
  let cost = 0n
  for (const record of records.values()) {
    const { prompt_tokens: input, completion_tokens: output } = record
    assert.equal(nanosOf(record.cost), BigInt(input) * price.input + BigInt(output) * price.output)
    cost += nanosOf(record.cost)
  }
  assert.equal(nanosOf(await account.balance()), nanosOf(balance) - cost, 'the balance is what records leave')
  const { ok, drift, open_holds: open, overrun } = await house.verify()
  assert.deepEqual({ ok, drift, open, overrun }, { ok: true, drift: '0', open: 0, overrun: '0' })
}
