/** The blocks of code in the documentation: each has a tag, and what is not only shown is right. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readShellCommands } from '../support/shell-commands.ts'
import { snippetChecks } from '../support/snippet-checks.ts'
import { formatPlace, readSnippets, snippetPages, snippetTags, type Snippet } from '../support/snippets.ts'
import { assertNone } from '../support/source-files.ts'

const snippets = snippetPages().flatMap(readSnippets)

describe('Blocks of code in the documentation', () => {
  test('Tags – every block has a language and one of run, check and text', () => {
    assert.ok(snippets.length > 50)
    const isTagged = ({ language, tag }: Snippet): boolean =>
      language !== '' && (snippetTags as readonly string[]).includes(tag)
    // A diagram is a picture, not code.
    const bad = snippets.filter((snippet) => snippet.language !== 'mermaid' && !isTagged(snippet))
    assertNone(
      bad.map((snippet) => `${formatPlace(snippet)}: ${snippet.language} ${snippet.tag}`),
      'Write the language and a tag after the backquotes, such as ```sh check (test/support/snippets.ts):',
    )
  })

  for (const snippet of snippets.filter(({ tag }) => tag === 'check' || tag === 'run')) {
    test(`${formatPlace(snippet)} – is correct ${snippet.language}`, async () => {
      const check =
        snippetChecks[snippet.language] ?? assert.fail('tag it `text`, or add a check for the language')
      await check(snippet)
    })
  }

  test('Checks – reject what does not exist', async () => {
    const wrong = [
      ['sh', 'sluice key create ann@example.com --label laptop'],
      ['sh', 'npx sluice model ad x'],
      ['sh', 'docker compose exec one sluice account create'],
      ['sh', 'npm run deploy'],
      ['sh', 'BACKUP_EACH=1d npm start'],
      ['sh', 'curl "$RELAY/api/admin/voucher" -d \'{"amount": "10"}\''],
      ['sh', 'curl "$RELAY/api/admin/vouchers" -d \'{"amounts": "10"}\''],
      ['sh', 'echo "'],
      ['ini', 'PAYMENT_FEES=stripe:2.9% # payers bear it'],
      ['json', '{"a": …}'],
      ['yaml', 'a: ['],
      ['toml', 'a = b'],
      ['ts', 'const a = ;'],
    ] as const
    for (const [language, code] of wrong) {
      const snippet = { page: 'README.md', line: 1, language, tag: 'check', code }
      await assert.rejects(async () => snippetChecks[language]?.(snippet), Error, code)
    }
    assert.deepEqual(readShellCommands('A=1 b "c d" \'e\' > f && (g; h) # i\nexport J=K'), [
      { variables: ['A'], words: ['b', 'c d', 'e'] },
      { variables: [], words: ['g'] },
      { variables: [], words: ['h'] },
      { variables: ['J'], words: ['export', 'J=K'] },
    ])
  })
})
