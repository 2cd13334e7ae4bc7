/** The Chinese console explains every setting in Chinese, with the same code in it as the English text. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { settings } from '../../src/config.ts'
import { settingDefaults, settingDocs } from './zh-cn/setting-texts.ts'

const chinese = /\p{Script=Han}/u

/** The parts in backticks. */
function codesIn(text: string): string[] {
  return [...new Set(text.match(/`[^`]+`/g))].toSorted()
}

describe('texts of settings in Chinese', () => {
  test('descriptions – exist for every setting and name the same values', () => {
    const all = Object.values(settings)
    assert.deepEqual(Object.keys(settingDocs).toSorted(), all.map(({ env }) => env).toSorted())
    for (const { env, doc } of all) {
      const text = settingDocs[env] ?? ''
      assert.match(text, chinese, env)
      assert.deepEqual(codesIn(text), codesIn(doc), env)
    }
  })

  test('defaults – that are sentences or words are translated', () => {
    for (const { env, defaultText } of Object.values(settings)) {
      const isText = defaultText === 'none' || (/\w`? \w/.test(defaultText) && !defaultText.includes('@'))
      assert.equal(defaultText in settingDefaults, isText, `${env}: ${defaultText}`)
    }
  })
})
