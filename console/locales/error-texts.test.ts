/** The Chinese console translates the messages of the API errors that a form can cause. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { ApiError } from '../../src/errors.ts'
import { apiErrorFromZod } from '../../src/http/api/thrown-errors.ts'
import { timeInput } from '../../src/http/admin/schemas.ts'
import { limitsInput } from '../../src/http/api/json-schemas.ts'
import { upstreamUrlProblem } from '../../src/lib/address-guard.ts'
import { parseAmount } from '../../src/lib/money.ts'
import { translateError } from './zh-cn/error-texts.ts'
import './zh-cn/branding-error-texts.ts'
import './zh-cn/payment-error-texts.ts'

const src = fileURLToPath(new URL('../../src/', import.meta.url))
const chinese = /\p{Script=Han}/u
const threeWords = /[A-Za-z][a-z]+(?:[ ,]+[A-Za-z][a-z]+){2}/

/** The first group of each match in these folders. Parts of a text that vary are sevens. */
function findInSource(folders: readonly string[], pattern: RegExp): string[] {
  return folders
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: src, exclude: ['**/*.{test,fixture}.ts'] }))
    .flatMap((name) =>
      Array.from(readFileSync(join(src, name), 'utf8').matchAll(pattern), ([, text = '']) =>
        text.replaceAll(/\\`/g, '`').replaceAll(/\$\{[^}]+\}/g, '7'),
      ),
    )
}

function assertTranslated(message: string): void {
  const text = translateError(message)
  assert.match(text, chinese, `${message} → ${text}`)
  assert.doesNotMatch(text, threeWords, message)
}

function zodMessage(schema: z.ZodType, value: unknown): string {
  const result = schema.safeParse(value)
  assert.ok(!result.success)
  return apiErrorFromZod(result.error).message
}

function thrownMessage(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    assert.ok(error instanceof ApiError)
    return error.message
  }
  return assert.fail('nothing was thrown')
}

const modules = [
  'accounts',
  'branding',
  'catalog',
  'ledger',
  'notifications',
  'users',
  'health',
  'http/admin',
  'payments',
  'engine/payments',
]

const pages = ['http/console', 'backup', 'engine', 'relay/upstreams']

describe('error texts in Chinese', () => {
  test('reasons – of the modules and of money are all known', () => {
    const reasons = findInSource(
      modules,
      /\binvalidField\(\s*(?:'[^']+'|`[^`]+`|\w+),\s*['"`]((?:[^'`\\]|'(?=s ))+)['`]/g,
    )
    assert.ok(reasons.length > 30)
    for (const reason of reasons) assertTranslated(`name ${reason}.`)
    for (const text of ['', 'a', '0.0000000001', '9'.repeat(40)])
      assertTranslated(thrownMessage(() => parseAmount(text, 'amount')))
  })

  test('messages – that name no field, or their field themselves, are all known', () => {
    const ofErrors = /(?:message: |const message = )['`]((?:[^'`\\]|\\`)+\.)['`]/g
    // Texts that no form shows: of the ledger's check, of programs and nodes, of tests that passed; and reasons.
    const others =
      /^(?:request 7|the entry|Request 7|kind must be|The upstream lists|This (?:Idempotency-Key|relay)|7 7)|\bnanos\b|upstream7|imit (?:of|exceeded|reached)/
    const missing = findInSource([...modules, ...pages], /\bnotFound\('([^']+)'\)/g)
    const messages = [
      ...findInSource([...modules, ...pages], ofErrors).filter((text) => !others.test(text)),
      ...new Set(missing.map((noun) => `${noun} not found.`)),
    ]
    assert.ok(messages.length > 60)
    const unknown = messages.filter((text) => translateError(text) === '')
    assert.deepEqual(unknown, [])
    for (const message of messages) assertTranslated(message)
    assertTranslated('Models still have routes to this upstream: a, b.')
  })

  test('validation – of types, lengths and ranges names the field and the rule', () => {
    const schema = z.strictObject({
      name: z.string().min(1).max(5),
      count: z.int().min(1).max(10),
      models: z.array(z.string()).max(1),
      kind: z.enum(['webhook', 'email']),
      expires_at: timeInput,
      limits: limitsInput,
    })
    const valid = {
      name: 'a',
      count: 1,
      models: [],
      kind: 'email',
      expires_at: '2030-01-01T00:00:00Z',
      limits: {},
    }
    const invalid: [object, string][] = [
      [{ name: undefined }, '请填写名称。'],
      [{ name: 7 }, '名称必须是文本。'],
      [{ name: '' }, '名称不能为空。'],
      [{ name: 'abcdef' }, '名称最多 5 个字符。'],
      [{ count: 'x' }, '数量必须是整数。'],
      [{ count: 1.5 }, '数量必须是整数。'],
      [{ count: 0 }, '数量不能小于 1。'],
      [{ count: 11 }, '数量不能大于 10。'],
      [{ models: ['a', 'b'] }, '模型最多 1 项。'],
      [{ models: [7] }, '模型（第 1 项）必须是文本。'],
      [{ kind: 'sms' }, '类型必须是以下之一："webhook"|"email"。'],
      [{ expires_at: 'x' }, '到期时间必须是时间，例如 2026-11-21T08:00:00Z。'],
      [{ limits: { rpm: 'many' } }, '每分钟请求数必须是整数。'],
    ]
    for (const [change, text] of invalid)
      assert.equal(translateError(zodMessage(schema, { ...valid, ...change })), text)
  })

  test('addresses – that upstreams and channels may not use are explained', () => {
    for (const url of [
      'ftp://a',
      'nonsense',
      'http://a b',
      'http://a:b@c',
      'http://127.0.0.1',
      'http://[::1]',
    ])
      for (const setting of [undefined, 'UPSTREAM_ALLOW'])
        assertTranslated(`base_url: ${upstreamUrlProblem(url, [], setting)}`)
    assertTranslated(`base_url: ${upstreamUrlProblem('http://localhost', [])}`)
  })

  test('unknown messages – are not translated', () => {
    for (const message of ['Something else happened.', 'name is strange.', ''])
      assert.equal(translateError(message), '')
  })
})
