import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { maxWaitingQueries } from '../../db/query-queue.ts'
import { ReportSlots } from './report-slots.ts'

const [one, two, three] = [{}, {}, {}]

/** Reports that run until they are released, and the order in which they began. */
class ManualReports {
  readonly slots = new ReportSlots()
  readonly begun: string[] = []

  add(name: string, holder: object): void {
    void this.slots.acquire(name.slice(0, 1), holder).then(() => this.begun.push(name))
  }

  async hasBegun(...names: string[]): Promise<void> {
    await nextTurn()
    assert.deepEqual(this.begun, names)
  }
}

describe('ReportSlots', () => {
  test('reports of one account – two run at once, whichever workers ask; others pass them', async () => {
    const reports = new ManualReports()
    for (const [index, holder] of [one, two, three, one, three].entries()) reports.add(`a${index}`, holder)
    reports.add('b', three)
    await reports.hasBegun('a0', 'a1', 'b')
    reports.slots.release('a', two)
    await reports.hasBegun('a0', 'a1', 'b', 'a2')
    reports.slots.release('a', one)
    reports.slots.release('a', three)
    await reports.hasBegun('a0', 'a1', 'b', 'a2', 'a3', 'a4')
  })

  test('worker that exits – frees the slots of its reports; its waiting ones are forgotten', async () => {
    const reports = new ManualReports()
    for (const [index, holder] of [one, one, one, two, three].entries()) reports.add(`a${index}`, holder)
    await reports.hasBegun('a0', 'a1')
    reports.slots.releaseAll(one)
    await reports.hasBegun('a0', 'a1', 'a3', 'a4')
  })

  test('account with too many waiting reports – gets no slot until one has ended', async () => {
    const slots = new ReportSlots()
    for (let report = 0; report < 2 + maxWaitingQueries; report += 1) void slots.acquire('a', one)
    assert.equal(await slots.acquire('a', two), false)
    assert.equal(await slots.acquire('b', two), true)
    slots.release('a', one)
    const accepted = slots.acquire('a', two)
    assert.equal(await slots.acquire('a', three), false)
    slots.releaseAll(one)
    assert.equal(await accepted, true)
  })
})
