/** Both languages are complete and separate: the same keys, no English text in Chinese, no Chinese text in English. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'node:test'
import { apiError, type ApiErrorCode } from '../../src/errors.ts'

const here = fileURLToPath(new URL('./', import.meta.url))
const namespaces = globSync('*.ts', { cwd: join(here, 'en') }).toSorted()

/** Words that Chinese texts keep: names of products, formats, fields and keyboard keys, and terms of the field. */
const keptWords = new Set(
  `API Messages Responses CSV SDK URL IP ID JSON SSE DONE QR SVG PIN OpenAI Bedrock Asia Shanghai Shift Enter req GET POST English Retry After
  Idempotency Key Slack Telegram Sluice Token Webhook x xx should retry false ratelimit sluice cost request id error
  message type param code stream true data usage options include unlimited v1 npx admin link application json K UTC image generation quality size PNG JPEG WebP KiB MiB PDF OFD XML https`.split(
    /\s+/,
  ),
)
const chinese = /\p{Script=Han}/u

/** Every text of a namespace by its path. Messages that are functions are called with sevens. */
function textsOf(value: unknown, path: string): [string, string][] {
  if (typeof value === 'string') return [[path, value]]
  if (typeof value === 'function') {
    const text: unknown = Reflect.apply(value, null, Array<number>(value.length).fill(7))
    return [[path, String(text)]]
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => textsOf(each, `${path}.${name}`))
}

async function messagesIn(language: 'en' | 'zh-cn', namespace: string): Promise<Map<string, string>> {
  const module = (await import(`./${language}/${namespace}`)) as Record<string, unknown>
  const name = namespace.replace('.ts', '').replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  return new Map(textsOf(module[name], namespace))
}

function errorCodes(): ApiErrorCode[] {
  const source = readFileSync(new URL('../../src/errors.ts', import.meta.url), 'utf8')
  const table = source.slice(source.indexOf('const definitions'), source.indexOf('} as const satisfies'))
  return Array.from(table.matchAll(/^ {2}(\w+): \[/gm), ([, code = '']) => code as ApiErrorCode)
}

describe('console messages', () => {
  for (const namespace of namespaces) {
    test(`${namespace} – both languages have the same keys`, async () => {
      const [english, translated] = await Promise.all([
        messagesIn('en', namespace),
        messagesIn('zh-cn', namespace),
      ])
      assert.ok(english.size > 0)
      assert.deepEqual([...translated.keys()].toSorted(), [...english.keys()].toSorted())
    })

    test(`${namespace} – neither language contains text of the other`, async () => {
      const [english, translated] = await Promise.all([
        messagesIn('en', namespace),
        messagesIn('zh-cn', namespace),
      ])
      const isName = (path: string): boolean => /^auth\.ts\.language\.|\.table\.\d+\.code$/.test(path)
      for (const [path, text] of english) if (!isName(path)) assert.doesNotMatch(text, chinese, path)
      for (const [path, text] of translated) {
        if (isName(path)) continue
        const left = (text.match(/[A-Za-z][A-Za-z0-9]*/g) ?? []).filter((word) => !keptWords.has(word))
        assert.deepEqual(left, [], `${path}: ${text}`)
      }
    })
  }

  test('Chinese labels – use the agreed terms', async () => {
    const glossary: readonly (readonly [RegExp, RegExp])[] = [
      [/\bbalance\b/i, /余额/],
      [/\bupstreams?\b/i, /上游/],
      [/\bkeys?\b/i, /密钥/],
      [/\busage\b/i, /用量/],
      [/\btop up\b/i, /充值/],
    ]
    for (const namespace of ['shell.ts', 'account.ts', 'catalog.ts', 'customers.ts']) {
      const [english, translated] = await Promise.all([
        messagesIn('en', namespace),
        messagesIn('zh-cn', namespace),
      ])
      for (const [path, text] of english) {
        // Only labels of one or two words: a sentence may be phrased differently.
        if (text.split(' ').length > 2) continue
        for (const [word, term] of glossary) {
          if (word.test(text)) assert.match(translated.get(path) ?? '', term, `${path}: ${text}`)
        }
      }
    }
  })

  test('Chinese texts – avoid synonyms of the agreed terms', async () => {
    const synonyms = /词元|运营者|凭据|试用台|禁用|应答|调用方|限额|倍数/
    for (const namespace of namespaces) {
      const translated = await messagesIn('zh-cn', namespace)
      for (const [path, text] of translated) assert.doesNotMatch(text, synonyms, path)
    }
  })

  test('error texts – exist in both languages for every API error code', async () => {
    const codes = errorCodes()
    assert.ok(codes.length > 20)
    for (const language of ['en', 'zh-cn'] as const) {
      const messages = await messagesIn(language, 'auth.ts')
      assert.deepEqual(
        codes.filter((code) => !messages.has(`auth.ts.errors.${code}`)),
        [],
        language,
      )
    }
  })

  test('error texts – English equals the message of the API', async () => {
    const messages = await messagesIn('en', 'auth.ts')
    for (const code of errorCodes()) {
      assert.equal(messages.get(`auth.ts.errors.${code}`), apiError(code).message)
    }
  })
})
