import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  callsByTool,
  classedName,
  dearestImageClass,
  estimateImageTokens,
  findImageClass,
  parseClassedName,
  readImageClass,
} from './image-classes.ts'
import { decodeUnitPrices, encodeUnitPrices } from './price-units.ts'

const nameOf = (quality?: string, size?: string): string =>
  classedName('image_generation', { ...(quality ? { quality } : {}), ...(size ? { size } : {}) })

const price = {
  perToolCall: {
    file_search: 9n,
    [nameOf('high', '1536x1024')]: 5n,
    [nameOf('high')]: 4n,
    [nameOf('low', '1024x1024')]: 1n,
    [nameOf(undefined, '1024x1024')]: 2n,
  },
}
const withRest = { perToolCall: { ...price.perToolCall, image_generation: 3n } }

describe('Names of classes', () => {
  test('class name – is read back, whatever the quality and size', () => {
    for (const fields of [{}, { quality: 'high' }, { size: '16:9' }, { quality: 'a&b=c?', size: '§ /%' }]) {
      const name = classedName('image_generation', fields)
      assert.deepEqual(parseClassedName(name), { tool: 'image_generation', ...fields })
    }
    assert.equal(nameOf('high', '1024x1024'), 'image_generation?quality=high&size=1024x1024')
    assert.equal(nameOf(), 'image_generation')
  })

  test('class names – keep their order when a price is stored', () => {
    const stored = encodeUnitPrices(withRest)
    assert.ok(stored)
    assert.deepEqual(
      Object.entries(decodeUnitPrices(stored).perToolCall ?? {}),
      Object.entries(withRest.perToolCall),
    )
  })

  test('calls by tool – are counted over all classes', () => {
    const calls = { [nameOf('high')]: 2, [nameOf('low')]: 1, file_search: 4 }
    assert.deepEqual(callsByTool(calls), { image_generation: 3, file_search: 4 })
  })
})

describe('Class of an image', () => {
  test('several classes – the first that matches applies', () => {
    for (const [image, name] of [
      [{ quality: 'high', size: '1536x1024' }, nameOf('high', '1536x1024')],
      [{ quality: 'high', size: '1024x1024' }, nameOf('high')],
      [{ quality: 'medium', size: '1024x1024' }, nameOf(undefined, '1024x1024')],
      [{ quality: 'low', size: '1024x1536' }, undefined],
    ] as const) {
      assert.equal(findImageClass(price, image), name)
      assert.equal(findImageClass(withRest, image), name ?? 'image_generation')
    }
  })

  test('absent and auto – match only a class without that field', () => {
    assert.deepEqual(readImageClass({ quality: 'auto', size: '', n: 1 }), {})
    assert.equal(findImageClass(price, {}), undefined)
    assert.equal(findImageClass(price, { quality: 'high' }), nameOf('high'))
    assert.equal(findImageClass(price, { quality: 'low' }), undefined)
    assert.equal(findImageClass({}, {}), undefined)
  })

  test('dearest possible class – is none behind one that matches in any case', () => {
    for (const [asked, name] of [
      [[{}], nameOf('high', '1536x1024')],
      [[{ quality: 'high', size: '1024x1024' }], nameOf('high')],
      [[{ quality: 'low' }], 'image_generation'],
      [[{ quality: 'low', size: '1024x1024' }], nameOf('low', '1024x1024')],
      [
        [
          { quality: 'low', size: '1024x1024' },
          { quality: 'high', size: '1x1' },
        ],
        nameOf('high'),
      ],
    ] as const)
      assert.equal(dearestImageClass(withRest, asked), name, JSON.stringify(asked))
    assert.equal(dearestImageClass(price, [{ quality: 'medium', size: '1x1' }]), nameOf('high', '1536x1024'))
    assert.equal(dearestImageClass({ perToolCall: { file_search: 1n } }, [{}]), undefined)
  })
})

describe('Tokens of an image', () => {
  test('tokens – grow with the pixels, at least a square’s; an unknown quality is high', () => {
    for (const [image, tokens] of [
      [{ quality: 'low', size: '1024x1024' }, 272],
      [{ quality: 'medium', size: '1024x1536' }, 1584],
      [{ quality: 'high', size: '1536x1024' }, 6240],
      [{ quality: 'high', size: '512x512' }, 4160],
      [{ quality: 'low', size: '3840x2160' }, 2152],
      [{}, 6240],
      [{ quality: 'constructor', size: 'huge' }, 6240],
    ] as const)
      assert.equal(estimateImageTokens(image), tokens, JSON.stringify(image))
  })
})
