import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'

import { zipOf } from '../../test/support/payments/zip-file.ts'
import { readZip, ZipError } from './zip.ts'

const name = Buffer.from('list.csv')
const text = Buffer.from('a,b,c\r\n'.repeat(500))
const archive = zipOf([
  { name, data: text },
  { name: Buffer.from('folder/'), data: Buffer.alloc(0), isStored: true },
  { name: Buffer.from('empty'), data: Buffer.alloc(0) },
  { name: Buffer.from('folder/noise'), data: randomBytes(1000), isStored: true },
])

describe('ZIP archives', () => {
  test('archive – stored and deflated files are read, and folders are left out', () => {
    const entries = readZip(archive, 10_000)
    assert.deepEqual(
      entries.map((entry) => entry.name.toString()),
      ['list.csv', 'empty', 'folder/noise'],
    )
    assert.deepEqual(entries[0]?.data, text)
    assert.deepEqual(readZip(zipOf([]), 0), [])
  })

  test('archive – a comment at the end is allowed', () => {
    const commented = Buffer.concat([archive, Buffer.from('PK')])
    commented.writeUInt16LE(2, archive.length - 2)
    assert.equal(readZip(commented, 10_000).length, 3)
  })

  test('archive – one that unpacks to more than the maximum is rejected', () => {
    assert.throws(() => readZip(archive, text.length + 999), ZipError)
    assert.equal(readZip(archive, text.length + 1000).length, 3)
  })

  test('archive – an entry that states a smaller size than it has is rejected', () => {
    const lying = zipOf([{ name, data: text }])
    const central = lying.indexOf('PK\x01\x02')
    lying.writeUInt32LE(10, central + 24)
    assert.throws(() => readZip(lying, 10_000), ZipError)
  })

  test('archive – one that is cut anywhere is rejected', () => {
    for (let length = 0; length < archive.length; length += 1)
      assert.throws(() => readZip(archive.subarray(0, length), 10_000), ZipError, String(length))
  })

  test('archive – a changed byte of the content is found', () => {
    const start = 30 + name.length
    const small = zipOf([{ name, data: Buffer.from('amount 10.00'), isStored: true }])
    for (let at = start; at < start + 12; at += 1) {
      const changed = Buffer.from(small)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      assert.throws(() => readZip(changed, 100), ZipError)
    }
  })

  test('archive – encrypted entries and other compressions are rejected', () => {
    for (const [offset, value] of [
      [8, 1],
      [10, 14],
    ] as const) {
      const odd = zipOf([{ name, data: text }])
      odd.writeUInt16LE(value, odd.indexOf('PK\x01\x02') + offset)
      assert.throws(() => readZip(odd, 10_000), { message: 'The archive is of another kind.' })
    }
  })
})
