/** The gzipped size of the scripts of the sign-in page and of every other page, in the larger language; the font. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  ensureConsoleBuilt,
  readManifest,
  gzippedBytes,
  type Manifest,
} from '../support/console/console-build.ts'
import { root } from '../support/source-files.ts'

const maxSignInBytes = 150 * 1024
const maxPageBytes = 300 * 1024
const maxFontBytes = 50 * 1024
const signInFolder = 'pages/auth/'
const allAreas = globSync('*.ts', { cwd: join(root, 'console/locales/en') }).map((name) =>
  name.replace('.ts', ''),
)

function largestSize(
  dist: string,
  manifest: Manifest,
  pages: readonly string[],
  areas: readonly string[],
): number {
  const languages = ['en', 'zh-cn'].map((language) =>
    gzippedBytes(dist, manifest, [
      'index.html',
      ...pages,
      ...areas.map((area) => `locales/${language}/${area}.ts`).filter((name) => name in manifest),
    ]),
  )
  return Math.max(...languages)
}

describe('Console size', () => {
  test('Scripts have at most 150 KB for the sign-in pages and 300 KB for any other page', async (t) => {
    const dist = await ensureConsoleBuilt()
    const manifest = readManifest(dist)
    const pages = globSync('pages/**/*.tsx', { cwd: join(root, 'console') })
      .map((name) => name.replaceAll('\\', '/'))
      .filter((name) => name in manifest)
    assert.ok(pages.includes('pages/auth/sign-in.tsx'), 'the build has a separate chunk for the sign-in page')

    const tooLarge: string[] = []
    let [signIn, largest] = [0, 0]
    for (const page of pages) {
      const isSignIn = page.startsWith(signInFolder)
      // A page after sign-in may use the texts of all areas and always loads the shell.
      const bytes = isSignIn
        ? largestSize(dist, manifest, [page], ['auth'])
        : largestSize(dist, manifest, ['pages/shell.tsx', page], allAreas)
      if (isSignIn) signIn = Math.max(signIn, bytes)
      else largest = Math.max(largest, bytes)
      if (bytes > (isSignIn ? maxSignInBytes : maxPageBytes)) tooLarge.push(`${page}: ${bytes} bytes`)
    }
    t.diagnostic(
      `to sign-in ${Math.round(signIn / 1024)} KB, to the largest page ${Math.round(largest / 1024)} KB`,
    )
    assert.deepEqual(tooLarge, [], 'load less, or load it later')
  })

  test('The font is one file of at most 50 KB, which every page preloads', async () => {
    const dist = await ensureConsoleBuilt()
    const [font = '', ...others] = globSync('assets/*.woff2', { cwd: dist })
    assert.deepEqual(others, [])
    assert.ok(readFileSync(join(dist, font)).length <= maxFontBytes)
    const page = readFileSync(join(dist, 'index.html'), 'utf8')
    assert.match(page, new RegExp(`<link rel="preload" href="/console/${font}" as="font"`))
  })
})
