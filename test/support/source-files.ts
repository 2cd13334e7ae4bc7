/**
 * The project's source as text, for architecture.test.ts and conventions.test.ts: every file with its lines, its
 * imports, and its code without comments and string contents. Reading text takes milliseconds; a parser would have to
 * keep up with the language.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The text of a file of the project. */
export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

export interface Import {
  /** As it is written: `./client/parallel-requests.ts`, `node:net`, `zod`. */
  readonly specifier: string
  /** The path of the imported file from the root; undefined for packages. */
  readonly target: string | undefined
  readonly names: readonly string[]
  readonly typeOnly: boolean
  readonly line: number
}

export interface SourceFile {
  /** From the root: `src/ledger/operations.ts`. */
  readonly path: string
  readonly text: string
  /** Comments blanked out, at the same places. */
  readonly uncommented: string
  /** Comments and the insides of strings and regular expressions blanked out, at the same places. */
  readonly code: string
  readonly lineCount: number
  readonly imports: readonly Import[]
}

export function readSources(): SourceFile[] {
  const paths = globSync('{src,console,test,sim,bench,clients,site}/**/*.{ts,tsx}', {
    cwd: root,
    exclude: ['**/node_modules', '**/.venv', 'console/dist*'],
  })
  return paths.toSorted().map((path) => sourceFileOf(path, readFileSync(join(root, path), 'utf8')))
}

export function sourceFileOf(path: string, text: string): SourceFile {
  const { uncommented, code } = blank(text)
  const lineCount = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  return { path, text, uncommented, code, lineCount, imports: importsOf(path, text, code) }
}

/** Tests and their fixtures. */
export function isTest(file: SourceFile): boolean {
  return /\.(test|long|fixture)\.ts$/.test(file.path)
}

export function lineAt(text: string, index: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < index; at = text.indexOf('\n', at + 1)) line += 1
  return line
}

/** Fails with the list of offences and what to do about them. */
export function assertNone(offences: readonly string[], whatToDo: string): void {
  if (offences.length > 0) assert.fail(`${whatToDo}\n  ${offences.join('\n  ')}`)
}

/** Where the pattern (with the flag g) occurs in the code of these files, as `path:line match`. */
export function findPlaces(
  files: readonly SourceFile[],
  pattern: RegExp,
  part: 'code' | 'uncommented' = 'code',
) {
  return files.flatMap((file) =>
    Array.from(file[part].matchAll(pattern), (match) => {
      const found = match[0].trim().replaceAll(/\s+/g, ' ')
      return `${file.path}:${lineAt(file.text, match.index)} ${found}`
    }),
  )
}

const openings = [
  // import … from '…' and export … from '…'
  /\b(?:import|export)\s+(?<type>type\s)?(?<names>[^'"`;()=]*?)\sfrom\s*(?=['"])/g,
  // import '…' and import('…')
  /\bimport\s*\(?\s*(?=['"])/g,
  // new URL('./thread.ts', import.meta.url), which starts a thread
  /\bnew URL\(\s*(?=['"])/g,
]

function importsOf(path: string, text: string, code: string): Import[] {
  const found: Import[] = []
  for (const opening of openings) {
    for (const match of code.matchAll(opening)) {
      const start = match.index + match[0].length + 1
      const specifier = text.slice(start, code.indexOf(code.charAt(start - 1), start))
      if (match[0].startsWith('new URL') && !/^\.{1,2}\/.*\.[jt]s$/.test(specifier)) continue
      const names = (match.groups?.['names'] ?? '').replaceAll(/[{}]/g, ',').split(',')
      found.push({
        specifier,
        target: specifier.startsWith('.') ? join(dirname(path), specifier) : undefined,
        names: names.map((name) => name.trim()).filter((name) => name !== ''),
        typeOnly: match.groups?.['type'] !== undefined,
        line: lineAt(text, match.index),
      })
    }
  }
  return found
}

// Code in which no comment, literal or template ends or begins, then what may begin there.
const plain = /[^'"`/{}]+/y
const comment = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y
const string = /'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"/y
const regularExpression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y
// A template literal ends at `${` and continues after its `}`.
const templatePart = /[`}](?:\\[\s\S]|\$(?!\{)|[^`\\$])*(?:`|\$\{)/y

/** After a value, a slash is a division; otherwise it begins a regular expression. */
function dividesAfter(code: string): boolean {
  const end = code.trimEnd()
  if (/(?<![\w$])(return|typeof|case|of|in|do|else|void|throw|yield|await|default)$/.test(end.slice(-10)))
    return false
  return /[\w$)\]'"`]$/.test(end.slice(-1))
}

function blank(text: string): { uncommented: string; code: string } {
  let uncommented = ''
  let code = ''
  /** One entry per open `${`: the number of braces open inside it. */
  const templates: number[] = []
  const take = (pattern: RegExp, at: number): string | undefined => {
    pattern.lastIndex = at
    return pattern.exec(text)?.[0]
  }
  for (let at = 0; at < text.length;) {
    const character = text.charAt(at)
    const remark = character === '/' ? take(comment, at) : undefined
    const literal = remark === undefined ? literalAt(at, character) : undefined
    const token = remark ?? literal ?? take(plain, at) ?? character
    const inTemplate = templates.at(-1)
    if (literal === undefined && inTemplate !== undefined) {
      if (token === '{') templates[templates.length - 1] = inTemplate + 1
      if (token === '}') templates[templates.length - 1] = inTemplate - 1
    }
    uncommented += remark === undefined ? token : withoutText(token)
    if (remark !== undefined) code += withoutText(token)
    else if (literal === undefined) code += token
    else code += token.charAt(0) + withoutText(token.slice(1, -1)) + token.charAt(token.length - 1)
    at += token.length
  }
  return { uncommented, code }

  function literalAt(at: number, character: string): string | undefined {
    if (character === "'" || character === '"') return take(string, at)
    if (character === '/') return dividesAfter(code.slice(-200)) ? undefined : take(regularExpression, at)
    const continues = character === '}' && templates.at(-1) === 0
    if (character !== '`' && !continues) return undefined
    const part = take(templatePart, at)
    if (continues) templates.pop()
    if (part?.endsWith('${')) templates.push(0)
    return part
  }
}

/** Spaces and line ends in place of a text. */
function withoutText(text: string): string {
  return text.includes('\n') ? text.replaceAll(/[^\n]/g, ' ') : ' '.repeat(text.length)
}
