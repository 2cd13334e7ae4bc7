/** Builds the console if the build is missing or older than its sources, once for all tests. */
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildConsole, distFolder } from '../../../console/build.ts'
import { root } from '../source-files.ts'
import { waitUntil } from '../wait.ts'

const lockFolder = join(root, 'console/dist.lock')
const lockMaxMs = 180_000

function modifiedAtMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function unlock(): void {
  rmSync(lockFolder, { recursive: true, force: true })
}

/** Whether the process that locked it can no longer be building. */
function isAbandoned(): boolean {
  const lockedAtMs = modifiedAtMs(lockFolder)
  return lockedAtMs > 0 && Date.now() - lockedAtMs > lockMaxMs
}

function isUpToDate(): boolean {
  const sources = globSync('console/**/*', { cwd: root, exclude: ['console/dist*'] })
  const newest = Math.max(...sources.map((path) => modifiedAtMs(join(root, path))))
  return modifiedAtMs(join(distFolder, 'index.html')) > newest
}

/** Resolves when console/dist is up to date. Test files run in parallel, and only one of them builds. */
export async function ensureConsoleBuilt(): Promise<string> {
  while (!isUpToDate()) {
    try {
      mkdirSync(lockFolder)
    } catch {
      await waitUntil(() => !existsSync(lockFolder) || isAbandoned(), 'the other build', 2 * lockMaxMs)
      if (isAbandoned()) unlock()
      continue
    }
    try {
      if (!isUpToDate()) await buildConsole()
    } finally {
      unlock()
    }
  }
  return distFolder
}

interface Chunk {
  readonly file: string
  readonly imports?: readonly string[]
  readonly dynamicImports?: readonly string[]
}

export type Manifest = Readonly<Record<string, Chunk>>

export function readManifest(dist: string): Manifest {
  return JSON.parse(readFileSync(join(dist, 'manifest.json'), 'utf8')) as Manifest
}

/** The gzipped size of the scripts that these chunks load, each counted once. */
export function gzippedBytes(dist: string, manifest: Manifest, names: readonly string[]): number {
  const needed = new Set<string>()
  const walk = (name: string): void => {
    const chunk = manifest[name]
    if (chunk === undefined) throw new Error(`The build has no ${name}.`)
    if (needed.has(chunk.file)) return
    needed.add(chunk.file)
    for (const each of chunk.imports ?? []) walk(each)
  }
  for (const name of names) walk(name)
  const sizes = [...needed].map((file) => gzipSync(readFileSync(join(dist, file)), { level: 9 }).length)
  return sizes.reduce((sum, size) => sum + size, 0)
}
