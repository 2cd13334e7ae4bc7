import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { RejectedFields } from './rejected-fields.ts'

const day = 86_400_000

describe('RejectedFields', () => {
  test('rejected fields – are kept by upstream and model, and forgotten after a day', () => {
    const rejected = new RejectedFields()
    rejected.add({ upstream: 'u', model: 'a', field: 'temperature', learnedAtMs: 0 })
    rejected.add({ upstream: 'u', model: 'a', field: 'top_p', learnedAtMs: 5 })
    assert.deepEqual([...rejected.fields('u', 'a', day - 1)], ['temperature', 'top_p'])
    assert.deepEqual([...rejected.fields('u', 'a', day)], ['top_p'])
    assert.equal(rejected.fields('u', 'b', 0).size, 0)
    assert.equal(rejected.fields('v', 'a', 0).size, 0)
    rejected.add({ upstream: 'u', model: 'a', field: 'temperature', learnedAtMs: day })
    assert.equal(rejected.fields('u', 'a', day).size, 2)
    assert.equal(rejected.all().length, 2)
  })

  test('too many – the models learned about longest ago are forgotten first', () => {
    const rejected = new RejectedFields()
    const add = (model: string): void =>
      rejected.add({ upstream: 'u', model, field: 'temperature', learnedAtMs: 0 })
    for (let index = 0; index < 1000; index++) add(`m${index}`)
    add('m0')
    add('another')
    assert.equal(rejected.all().length, 1000)
    assert.equal(rejected.fields('u', 'm1', 0).size, 0)
    for (const model of ['m0', 'm2', 'another']) assert.equal(rejected.fields('u', model, 0).size, 1)
  })
})
