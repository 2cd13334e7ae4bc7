/** Both languages are whole and apart: the same keys, no English left in the Chinese, no Chinese in the English. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'

const here = fileURLToPath(new URL('words/', import.meta.url))
const areas = globSync('*.ts', { cwd: join(here, 'en') }).toSorted()

/** Names that stay as they are in Chinese: of products, formats, fields and keys on a keyboard. */
const names = new Set(
  `API CSV SDK URL IP ID JSON SSE DONE QR SVG PIN OpenAI Bedrock Asia Shanghai Shift req GET POST English Retry After
  Idempotency Key Slack Telegram x xx should retry false ratelimit sluice cost request id error message type param code stream true data
  usage options include unlimited v1 npx admin link K UTC`.split(/\s+/),
)
const chinese = /\p{Script=Han}/u

/** Every text of an area by its path; functions are called with sevens. */
function textsOf(value: unknown, path: string): [string, string][] {
  if (typeof value === 'string') return [[path, value]]
  if (typeof value === 'function') {
    const told: unknown = Reflect.apply(value, null, Array<number>(value.length).fill(7))
    return [[path, String(told)]]
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => textsOf(each, `${path}.${name}`))
}

async function wordsIn(language: 'en' | 'zh-cn', area: string): Promise<Map<string, string>> {
  const module = (await import(`./words/${language}/${area}`)) as Record<string, unknown>
  return new Map(textsOf(module[area.replace('.ts', '')], area))
}

for (const area of areas) {
  test(`${area}: both languages have the same words`, async () => {
    const [english, chinesePart] = await Promise.all([wordsIn('en', area), wordsIn('zh-cn', area)])
    assert.ok(english.size > 0)
    assert.deepEqual([...chinesePart.keys()].toSorted(), [...english.keys()].toSorted())
  })

  test(`${area}: no word of the one language is left in the other`, async () => {
    const [english, translated] = await Promise.all([wordsIn('en', area), wordsIn('zh-cn', area)])
    const isName = (path: string): boolean => /^door\.ts\.language\.|\.table\.\d+\.code$/.test(path)
    for (const [path, text] of english) if (!isName(path)) assert.doesNotMatch(text, chinese, path)
    for (const [path, text] of translated) {
      if (isName(path)) continue
      const left = (text.match(/[A-Za-z][A-Za-z0-9]*/g) ?? []).filter((word) => !names.has(word))
      assert.deepEqual(left, [], `${path}: ${text}`)
    }
  })
}

test('the Chinese words keep to the glossary', async () => {
  const glossary: readonly (readonly [RegExp, RegExp])[] = [
    [/\bbalance\b/i, /余额/],
    [/\bupstreams?\b/i, /上游/],
    [/\bkeys?\b/i, /密钥/],
    [/\busage\b/i, /用量/],
    [/\brecharge\b/i, /充值/],
  ]
  for (const area of ['shell.ts', 'account.ts', 'offer.ts', 'clients.ts']) {
    const [english, translated] = await Promise.all([wordsIn('en', area), wordsIn('zh-cn', area)])
    for (const [path, text] of english) {
      // One word or two: a sentence may well say it otherwise.
      if (text.split(' ').length > 2) continue
      for (const [word, term] of glossary) {
        if (word.test(text)) assert.match(translated.get(path) ?? '', term, `${path}: ${text}`)
      }
    }
  }
})

test('every refusal that the server can give is said in both languages', async () => {
  const table = readFileSync(new URL('../src/errors.ts', import.meta.url), 'utf8')
  const kinds = table.slice(table.indexOf('const kinds'), table.indexOf('} as const satisfies'))
  const codes = Array.from(kinds.matchAll(/^ {2}(\w+): \{/gm), ([, code = '']) => code)
  assert.ok(codes.length > 20)
  for (const language of ['en', 'zh-cn'] as const) {
    const words = await wordsIn(language, 'door.ts')
    assert.deepEqual(
      codes.filter((code) => !words.has(`door.ts.errors.${code}`)),
      [],
      language,
    )
  }
})
