import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../errors.ts'
import {
  backgrounds,
  cleanColors,
  contrast,
  darkFilled,
  renderAccentStyle,
  shadesOf,
} from './accent-colors.ts'

const readable = { light: '#0b6a84', dark: '#52c5dc' }

function rejection(colors: typeof readable): ApiError {
  try {
    cleanColors(colors)
  } catch (error) {
    assert.ok(error instanceof ApiError)
    return error
  }
  return assert.fail('the colours were accepted')
}

describe('accent colours', () => {
  test('contrast – is that of WCAG', () => {
    assert.equal(contrast('#000000', '#ffffff'), 21)
    assert.equal(contrast('#777777', '#ffffff').toFixed(2), '4.48')
    assert.equal(contrast('#ff0000', '#ffffff').toFixed(2), '4.00')
  })

  test('colours of the console itself – are accepted, in lower case', () => {
    assert.deepEqual(cleanColors({ light: ' #0B6A84', dark: '#52C5DC ' }), readable)
    assert.deepEqual(cleanColors({ ...readable, light: '#2563eb' }).light, '#2563eb')
  })

  test('low contrast – is rejected with the field and the figure, which is rounded down', () => {
    const { detail, message } = rejection({ ...readable, light: '#767676' })
    assert.equal(detail.param, 'colors.light')
    assert.match(message, /at least 4\.5 on the backgrounds of the light theme, and has 4\.08\.$/)
    assert.equal(rejection({ ...readable, dark: '#0b6a84' }).detail.param, 'colors.dark')
  })

  test('other texts – are no colours', () => {
    for (const light of ['', 'red', '#fff', '#0b6a84;}', 'rgb(0,0,0)', '#0b6a8g', '#0b6a8400'])
      assert.equal(rejection({ ...readable, light }).detail.param, 'colors.light', light)
  })

  test('accepted colours – have readable shades on their tinted backgrounds', () => {
    const color = fc
      .integer({ min: 0, max: 0xffffff })
      .map((value) => `#${value.toString(16).padStart(6, '0')}`)
    for (const theme of ['light', 'dark'] as const) {
      fc.assert(
        fc.property(color, (any) => {
          fc.pre(backgrounds[theme].every((background) => contrast(any, background) >= 4.5))
          const { strong, soft, softHover } = shadesOf(theme, any)
          for (const background of [soft, softHover]) assert.ok(contrast(strong, background) >= 4.5, strong)
        }),
      )
    }
  })

  test('buttons of the dark theme – carry white text, and stand out from their surface', () => {
    for (const light of ['#000000', '#8a1c5c', '#0b6a84', '#2563eb', '#0000ff']) {
      const filled = darkFilled(light)
      assert.ok(contrast(filled, '#ffffff') >= 4.5, light)
      assert.ok(contrast(filled, '#14181b') >= 3, light)
    }
  })

  test('style sheet – has custom properties only, and is empty without colours', () => {
    assert.equal(renderAccentStyle(null), '')
    assert.match(renderAccentStyle(readable), /^:root\{(--brand-[a-z-]+:#[0-9a-f]{6};?){10}\}\n$/)
  })

  test('backgrounds – are those of the console and of the public pages', () => {
    const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
    const [light = '', dark = ''] = read('../../console/styles/theme.css').split('@media not print')
    const frame = read('../http/public-pages/frame.ts')
    const [lightFrame = '', darkFrame = ''] = frame.slice(frame.indexOf(':root{')).split('@media')
    const found = (text: string, names: readonly string[]): string[] =>
      names.flatMap((name) => {
        const color = new RegExp(`--${name}: ?(#[0-9a-f]{3,6})`).exec(text)?.[1]
        return color === undefined ? [] : [color === '#fff' ? '#ffffff' : color]
      })
    const ofConsole = ['surface', 'bg', 'sunken', 'hover', 'raised']
    const ofPages = ['ground', 'card']
    const expected = {
      light: [...found(light, ofConsole), ...found(lightFrame, ofPages)],
      dark: [...found(dark, ofConsole), ...found(darkFrame, ofPages)],
    }
    for (const theme of ['light', 'dark'] as const) {
      assert.equal(expected[theme].length, 7, theme)
      assert.deepEqual(new Set(expected[theme]), new Set(backgrounds[theme]), theme)
    }
  })
})
