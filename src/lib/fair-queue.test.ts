import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemOwner, FairQueue } from './fair-queue.ts'

const maxWaitingOfOwner = 3
const maxWaiting = 6
const rejection = (): Error => new Error('too many')

/** Jobs that end one by one, and the order in which they began. */
class ManualJobs {
  readonly queue = new FairQueue({ maxWaitingOfOwner, maxWaiting, rejection })
  readonly begun: string[] = []
  readonly #ends: (() => void)[] = []

  add(owner: string, name: string): Promise<string> {
    return this.queue.run(owner, async () => {
      this.begun.push(name)
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#ends.push(resolve)
      await promise
      return name
    })
  }

  /** Ends the running job and waits until the next has begun. */
  async endOne(): Promise<void> {
    this.#ends.shift()?.()
    await new Promise(setImmediate)
  }
}

describe('FairQueue', () => {
  test('several owners – take turns, each in its own order; one job runs at a time', async () => {
    const jobs = new ManualJobs()
    const results = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => jobs.add(name.slice(0, 1), name))
    assert.deepEqual(jobs.begun, ['a1'])
    await jobs.endOne()
    assert.deepEqual(jobs.begun, ['a1', 'a2'])
    for (let job = 0; job < results.length; job += 1) await jobs.endOne()
    assert.deepEqual(jobs.begun, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
    assert.deepEqual(await Promise.all(results), ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'])
  })

  test('owner with too many waiting jobs – is rejected, another one is not', async () => {
    const jobs = new ManualJobs()
    const accepted = Array.from({ length: maxWaitingOfOwner + 1 }, () => jobs.add('a', 'a'))
    await assert.rejects(jobs.add('a', 'a'), /too many/)
    accepted.push(jobs.add('b', 'b'))
    await jobs.endOne()
    accepted.push(jobs.add('a', 'a'))
    for (const _ of accepted) await jobs.endOne()
    assert.equal((await Promise.all(accepted)).length, maxWaitingOfOwner + 3)
  })

  test('too many waiting jobs of all owners – are rejected until one has begun', async () => {
    const jobs = new ManualJobs()
    const accepted = ['a', 'b', 'c', 'd', 'e', 'f', 'f'].map((owner) => jobs.add(owner, owner))
    await assert.rejects(jobs.add('g', 'g'), /too many/)
    await jobs.endOne()
    accepted.push(jobs.add('g', 'g'))
    for (const _ of accepted) await jobs.endOne()
    assert.equal((await Promise.all(accepted)).length, maxWaiting + 2)
  })

  test('jobs of the system – are not bounded', async () => {
    const jobs = new ManualJobs()
    const accepted = Array.from({ length: 3 * maxWaiting }, () => jobs.add(systemOwner, 'x'))
    for (const _ of accepted) await jobs.endOne()
    assert.equal((await Promise.all(accepted)).length, accepted.length)
  })

  test('failed job – rejects, and the next one runs', async () => {
    const queue = new FairQueue({ maxWaitingOfOwner, rejection })
    const failed = queue.run('a', () => Promise.reject(new Error('no such table')))
    const next = queue.run('a', () => Promise.resolve('fine'))
    await assert.rejects(failed, /no such table/)
    assert.equal(await next, 'fine')
  })
})
