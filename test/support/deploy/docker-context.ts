/** What `docker build` gets of this repository. */
import { cpSync, globSync, mkdirSync } from 'node:fs'
import { dirname, join, matchesGlob } from 'node:path'
import { readText, root } from '../source-files.ts'

/** Whether Docker sends this path to the build: as in `.dockerignore`, the last matching line decides. */
export function isSentToBuild(path: string): boolean {
  let isSent = true
  for (const line of readText('.dockerignore').split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const isException = line.startsWith('!')
    const pattern = isException ? line.slice(1) : line
    if (pattern === '*' || matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`))
      isSent = isException
  }
  return isSent
}

/** Copies what Docker sends to the build. */
export function copyBuildContext(folder: string): void {
  const exclude = ['**/node_modules', '**/.venv', 'console/dist*', 'dist-packages', 'data']
  for (const entry of globSync('**/*', { cwd: root, exclude, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const target = join(folder, path.slice(root.length))
    if (!entry.isFile() || !isSentToBuild(path.slice(root.length))) continue
    mkdirSync(dirname(target), { recursive: true })
    cpSync(path, target)
  }
}
