/** What the console weighs: gzipped scripts to the sign-in page and to each other page, in its heavier language. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshConsole, manifestOf, weightOf, type Manifest } from './support/console/console-build.ts'
import { root } from './support/source-files.ts'

const toSignInMaxBytes = 150 * 1024
const toAnyPageMaxBytes = 300 * 1024
const entrances = ['pages/sign-in.tsx', 'pages/sign-up.tsx', 'pages/token-pages.tsx']
const areas = globSync('*.ts', { cwd: join(root, 'console/words/en') }).map((name) => name.replace('.ts', ''))

function heaviest(
  dist: string,
  manifest: Manifest,
  pages: readonly string[],
  words: readonly string[],
): number {
  const languages = ['en', 'zh-cn'].map((language) =>
    weightOf(dist, manifest, [
      'index.html',
      ...pages,
      ...words.map((area) => `words/${language}/${area}.ts`).filter((name) => name in manifest),
    ]),
  )
  return Math.max(...languages)
}

test('signing in takes at most 150 KB of scripts, any page at most 300 KB', async (t) => {
  const dist = await freshConsole()
  const manifest = manifestOf(dist)
  const pages = globSync('pages/**/*.tsx', { cwd: join(root, 'console') })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name in manifest)
  assert.ok(pages.includes('pages/sign-in.tsx'), 'the build has a chunk of its own for the sign-in page')

  const heavy: string[] = []
  let [signIn, most] = [0, 0]
  for (const page of pages) {
    const isEntrance = entrances.includes(page)
    // A page inside may use the words of all areas; the shell is always there.
    const bytes = isEntrance
      ? heaviest(dist, manifest, [page], ['door'])
      : heaviest(dist, manifest, ['pages/shell.tsx', page], areas)
    if (isEntrance) signIn = Math.max(signIn, bytes)
    else most = Math.max(most, bytes)
    if (bytes > (isEntrance ? toSignInMaxBytes : toAnyPageMaxBytes)) heavy.push(`${page}: ${bytes} bytes`)
  }
  t.diagnostic(
    `to sign-in ${Math.round(signIn / 1024)} KB, to the heaviest page ${Math.round(most / 1024)} KB`,
  )
  assert.deepEqual(heavy, [], 'fetch less, or later')
})
