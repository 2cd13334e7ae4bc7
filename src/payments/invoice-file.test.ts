import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../errors.ts'
import { maxInvoiceFileBytes, readInvoiceFile } from './invoice-file.ts'

const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64')

function rejection(file: string): string {
  try {
    readInvoiceFile(file)
  } catch (error) {
    assert.ok(error instanceof ApiError)
    assert.equal(error.detail.param, 'file')
    return error.message
  }
  return assert.fail('the file was accepted')
}

describe('invoice file', () => {
  test('types – are recognized by the bytes', () => {
    assert.equal(readInvoiceFile(base64('%PDF-1.7\n')).type, 'pdf')
    assert.equal(readInvoiceFile(base64('PK\x03\x04\x14\x00OFD.xml')).type, 'ofd')
    assert.equal(readInvoiceFile(base64('<?xml version="1.0"?><a/>')).type, 'xml')
    assert.equal(readInvoiceFile(base64('\xEF\xBB\xBF<?xml version="1.0"?><a/>')).type, 'xml')
  })

  test('other files – are rejected, whatever they could be', () => {
    for (const text of [
      '',
      'MZ\x90',
      '<html></html>',
      '<svg/>',
      'PK\x03\x04\x14\x00word/document.xml',
      ' %PDF-',
    ])
      assert.match(rejection(base64(text)), /PDF, OFD or XML/)
    assert.match(rejection('JVBERi0*'), /base64/)
  })

  test('size – is at most 5 MiB', () => {
    const file = Buffer.alloc(maxInvoiceFileBytes, ' ')
    file.write('%PDF-')
    assert.equal(readInvoiceFile(file.toString('base64')).content.length, maxInvoiceFileBytes)
    assert.match(rejection(Buffer.concat([file, Buffer.from(' ')]).toString('base64')), /5 MiB/)
  })
})
