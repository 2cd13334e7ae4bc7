/** The console knows every text that the server writes for operators. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'node:test'
import { automaticTitle } from '../../src/health/automatic-incidents.ts'
import { noModel } from '../../src/health/availability.ts'
import { classifyFailure } from '../../src/relay/routing/failure-scope.ts'
import { upstreamError } from '../../src/relay/routing/upstream-error.ts'
import { audit } from './en/audit.ts'
import { toChinese } from './server-texts.ts'

const src = fileURLToPath(new URL('../../src/', import.meta.url))
const chinese = /\p{Script=Han}/u

/** The first group of every match in these files. Parts of a text that vary are sevens. */
function findInSource(files: string, pattern: RegExp): string[] {
  const names = globSync(files, { cwd: src, exclude: ['**/*.test.ts'] })
  const found = names.flatMap((name) =>
    Array.from(readFileSync(join(src, name), 'utf8').matchAll(pattern), ([, text = '']) =>
      text.replaceAll(/\$\{[^}]+\}/g, '7'),
    ),
  )
  assert.ok(found.length > 0)
  return found
}

describe('texts of the server', () => {
  test('why a circuit is open – is known in Chinese', () => {
    const whys = findInSource(
      'relay/**/*.ts',
      /upstreamError\(\s*'(?:timeout|connection|garbage)',\s*['`](The [^'`]+)['`]/g,
    )
    for (const why of whys) assert.match(toChinese(why), chinese, why)
    for (const status of [401, 402, 403])
      assert.match(toChinese(classifyFailure(upstreamError('credential', '', status)).why), chinese)
    for (const kind of ['rate', 'unavailable', 'garbage'] as const)
      assert.match(toChinese(classifyFailure(upstreamError(kind, '', 500)).why), chinese)
  })

  test('automatic incidents – are known in Chinese, titles of people stay as they are', () => {
    const messages = findInSource('health/automatic-incidents.ts', /^ {2}\w+: '([A-Z][^']+\.)',$/gm)
    assert.ok(messages.length >= 8)
    for (const text of [...messages, automaticTitle(noModel)]) assert.match(toChinese(text), chinese, text)
    assert.equal(toChinese(automaticTitle('deepseek-chat')), 'deepseek-chat：请求失败')
    assert.equal(toChinese('Maintenance tonight'), 'Maintenance tonight')
  })

  test('why a model cannot be called – is known in Chinese', () => {
    const whys = findInSource('http/admin/catalog/route-plan.ts', /['?] '((?:The key|No enabled)[^']+\.)'/g)
    for (const why of whys) assert.match(toChinese(why), chinese, why)
  })

  test('why a balance changed – is known in Chinese', () => {
    const reasons = findInSource(
      'engine/**/*.ts',
      /reason(?: =|:) ['`]((?:Recharge|Refund|Dispute|Referral)\b[^'`]*)['`]/g,
    )
    assert.equal(new Set(reasons).size, 6)
    for (const reason of reasons) assert.match(toChinese(reason.replace('7', 'S7')), chinese, reason)
    assert.equal(toChinese('Refund for the outage'), 'Refund for the outage')
  })

  test('actions of the audit log – all have a label', () => {
    const kinds = new Set(Object.keys(audit.actions).map((action) => action.split('.')[0]))
    const named = findInSource('**/*.ts', /'([a-z_]+(?:\.[a-z_]+){1,2})'/g)
    const ofBackups = findInSource('http/admin/system/backups.ts', /audit\('(\w+)'/g)
    const actions = [
      ...named.filter(
        (text) => kinds.has(text.split('.')[0]) && !/\.(db|pem|rpm|tpm|rpd|concurrency)$/.test(text),
      ),
      ...ofBackups.map((name) => `backup.${name}`),
    ]
    assert.deepEqual([...new Set(actions)].toSorted(), Object.keys(audit.actions).toSorted())
  })
})
