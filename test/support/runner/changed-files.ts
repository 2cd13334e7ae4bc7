/** Which test files a change reaches, by the imports of the source tree. */
import { execFileSync } from 'node:child_process'

import { readSources, root, type SourceFile } from '../source-files.ts'

/** Loads a module, or starts a program, whose path is not written in the code. */
const unknownImport = /\bimport\((?!\s*['"])/
const startsPrograms = new Set(['node:child_process', 'node:fs', 'node:fs/promises'])

/** What differs from `ref` in the working tree, with files that git does not know yet; paths from the root. */
export function changedFiles(ref: string): string[] {
  const git = (...args: string[]): string[] =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' })
      .split('\n')
      .filter((line) => line !== '')
  return [
    ...git('diff', '--name-only', '--relative', ref),
    ...git('ls-files', '--others', '--exclude-standard'),
  ]
}

/** The file and all files it depends on. */
function closureOf(
  path: string,
  files: ReadonlyMap<string, SourceFile>,
  found = new Set<string>(),
): Set<string> {
  if (found.has(path)) return found
  found.add(path)
  for (const { target } of files.get(path)?.imports ?? [])
    if (target !== undefined) closureOf(target, files, found)
  return found
}

/** Whether a test, or what it imports for tests, may use a file that no import names. */
function cannotBeFollowed(closure: ReadonlySet<string>, files: ReadonlyMap<string, SourceFile>): boolean {
  return [...closure].some((path) => {
    const file = files.get(path)
    if (file === undefined || path.startsWith('src/')) return false
    return (
      unknownImport.test(file.code) || file.imports.some(({ specifier }) => startsPrograms.has(specifier))
    )
  })
}

/** Of these test files, those that the changed files reach, and those whose dependencies cannot be known. */
export function reachedTests(tests: readonly string[], changed: readonly string[]): string[] {
  const files = new Map(readSources().map((file) => [file.path, file]))
  const isChanged = new Set(changed)
  return tests.filter((test) => {
    const closure = closureOf(test, files)
    return [...closure].some((path) => isChanged.has(path)) || cannotBeFollowed(closure, files)
  })
}
