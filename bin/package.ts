/**
 * Builds the packages of this version into dist-packages/ (docs/decisions/0048-packages-from-one-tree.md):
 *
 *     npm run package                           all of them
 *     npm run package -- npm linux-x64          only these: npm, linux-x64, linux-arm64, chart
 *     npm run package -- --output <folder>      into another folder
 *
 * The same sources, dependencies, Node.js and npm give the same bytes.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { buildConsole } from '../console/build.ts'

interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

interface LockedPackage {
  readonly version: string
  readonly integrity: string
  /** Needed only to build or test. */
  readonly dev?: boolean
  /** Needed to build or test, and used by a dependency if it is there. */
  readonly devOptional?: boolean
  /** Belongs to one kind of machine. */
  readonly os?: unknown
}

/** What `npm pack --json` says about a package. */
interface PackedPackage {
  readonly filename: string
  readonly integrity: string
  readonly files: readonly { readonly path: string }[]
}

const platforms = ['linux-x64', 'linux-arm64']
const targets = ['npm', ...platforms, 'chart']
const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = readJson<Manifest>('package.json')
const { packages } = readJson<{ packages: Readonly<Record<string, LockedPackage>> }>('package-lock.json')
const release = `sluice-${manifest.version}`

function readJson<Value>(path: string): Value {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as Value
}

function npmPack(...args: string[]): PackedPackage {
  const options = ['pack', '--json', '--ignore-scripts', '--prefer-offline', '--loglevel=error']
  const maxBuffer = 1 << 26
  const text = execFileSync('npm', [...options, ...args], { cwd: root, encoding: 'utf8', maxBuffer })
  const [packed] = JSON.parse(text) as PackedPackage[]
  if (packed === undefined) throw new Error(`npm pack ${args.join(' ')} packed nothing`)
  return packed
}

/** Packs a folder in `parent` with sorted entries, without owners and times. */
function createArchive(path: string, parent: string, folder: string): void {
  const metadata = ['--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX']
  const options = ['--sort=name', ...metadata, '--use-compress-program=gzip -6n']
  execFileSync('tar', [...options, '-cf', path, '-C', parent, folder])
}

function extract(archive: string, folder: string, ...args: string[]): void {
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-xzf', archive, '-C', folder, ...args])
}

/**
 * Strips the types, which leaves every line where it is, and names the compiled files wherever a file is named by a
 * relative path: in imports and in the URLs of threads.
 */
function compile(path: string): string {
  const source = readFileSync(join(root, path), 'utf8')
  const code = path.endsWith('.ts') ? stripTypeScriptTypes(source) : source
  return code.replaceAll(/(['"])(\.\.?\/[^'"\n]+)\.ts\1/g, '$1$2.js$1')
}

/** Whether a file of a dependency may be loaded, or is its licence: no types, source maps, tests and pages. */
function isNeeded(path: string): boolean {
  const name = basename(path)
  if (/licen[cs]e|notice|copying/i.test(name)) return true
  return !/\.([cm]?ts|map|flow|md)$|(^|\.)(test|spec)\.[cm]?js$|^(tests?|__tests__|specs?|fixtures)$/.test(
    name,
  )
}

/** Copies a dependency, without those inside it, which the lock file lists as well. */
function copyDependency(path: string, stage: string): void {
  const source = join(root, path)
  const filter = (from: string): boolean => from !== join(source, 'node_modules') && isNeeded(from)
  cpSync(source, join(stage, path), { recursive: true, filter })
  // npm may run on an older Node.js, which never runs the dependencies, and would print a warning for each of them.
  const { engines: _engines, ...published } = readJson<Record<string, unknown>>(join(path, 'package.json'))
  writeFileSync(join(stage, path, 'package.json'), JSON.stringify(published))
}

/** Assembles the npm package: the files that package.json lists, compiled, the dependencies, the console, the SBOM. */
async function stagePackage(stage: string): Promise<void> {
  for (const { path } of npmPack('--dry-run').files) {
    const target = join(stage, path)
    mkdirSync(dirname(target), { recursive: true })
    if (!/\.[jt]s$/.test(path)) cpSync(join(root, path), target)
    else writeFileSync(target.replace(/\.ts$/, '.js'), compile(path))
  }
  chmodSync(join(stage, 'bin/sluice'), 0o755)
  const { scripts: _scripts, devDependencies: _devDependencies, files: _files, ...published } = manifest
  const bundled = { ...published, bundleDependencies: Object.keys(manifest.dependencies) }
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(bundled, null, 2)}\n`)
  for (const [path, { dev, devOptional, os }] of Object.entries(packages))
    if (path !== '' && dev !== true && devOptional !== true && os === undefined) copyDependency(path, stage)
  await buildConsole(join(stage, 'console/dist'))
  // Vite's list of chunks, which only a test reads, and which names the folder of the dependencies.
  for (const suffix of ['', '.gz', '.br']) rmSync(join(stage, `console/dist/manifest.json${suffix}`))
  execFileSync(process.execPath, ['bin/write-sbom.js', join(stage, 'sbom'), '--relay'], {
    cwd: root,
    stdio: 'pipe',
  })
}

async function buildNpmPackage(output: string, folder: string): Promise<string> {
  const stage = join(folder, 'npm')
  await stagePackage(stage)
  return join(output, npmPack(stage, '--pack-destination', output).filename)
}

/** Fetches the Node.js of the lock file, from npm's cache if it is there. */
function extractNode(platform: string, folder: string): void {
  const locked = packages[`node_modules/node-${platform}`]
  const { filename, integrity } = npmPack(`node-${platform}@${locked?.version}`, '--pack-destination', folder)
  if (integrity !== locked?.integrity)
    throw new Error(`${filename} is not the package in package-lock.json: its hash is ${integrity}`)
  extract(join(folder, filename), folder, 'package/bin/node', 'package/LICENSE')
}

/** The npm package with its own Node.js and a systemd unit, in one folder named after the release. */
function buildTarball(platform: string, npmPackage: string, folder: string): string {
  const top = join(folder, platform, release)
  extract(npmPackage, top, '--strip-components=1')
  extractNode(platform, join(folder, platform))
  cpSync(join(folder, platform, 'package/bin/node'), join(top, 'bin/node'))
  cpSync(join(folder, platform, 'package/LICENSE'), join(top, 'LICENSE-node'))
  cpSync(join(root, '.env.example'), join(top, 'sluice.env.example'))
  const unit = readFileSync(join(root, 'deploy/systemd/sluice.service'), 'utf8')
  writeFileSync(join(top, 'sluice.service'), unit.replaceAll('/opt/sluice', '/opt/sluice/current'))
  const path = join(dirname(npmPackage), `${release}-${platform}.tar.gz`)
  createArchive(path, join(folder, platform), release)
  return path
}

/** Helm would name it sluice-<version>.tgz, as npm names its package. */
function buildChart(output: string, folder: string): string {
  cpSync(join(root, 'deploy/helm'), join(folder, 'chart/sluice'), { recursive: true })
  const path = join(output, `sluice-chart-${manifest.version}.tgz`)
  createArchive(path, join(folder, 'chart'), 'sluice')
  return path
}

async function buildPackages(wanted: readonly string[], output: string, folder: string): Promise<string[]> {
  const paths = wanted.includes('chart') ? [buildChart(output, folder)] : []
  const wantedPlatforms = platforms.filter((platform) => wanted.includes(platform))
  if (wanted.includes('npm') || wantedPlatforms.length > 0) {
    const npmPackage = await buildNpmPackage(output, folder)
    paths.push(npmPackage, ...wantedPlatforms.map((platform) => buildTarball(platform, npmPackage, folder)))
  }
  return paths
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { output: { type: 'string', default: join(root, 'dist-packages') } },
})
const unknown = positionals.find((each) => !targets.includes(each))
if (unknown !== undefined) throw new Error(`Unknown package ${unknown}: choose from ${targets.join(', ')}.`)
const output = resolve(values.output)
mkdirSync(output, { recursive: true })
const folder = mkdtempSync(join(tmpdir(), 'sluice-package-'))
try {
  const paths = await buildPackages(positionals.length > 0 ? positionals : targets, output, folder)
  const sums = paths
    .toSorted()
    .map((path) => `${sha256(path)}  ${basename(path)}\n`)
    .join('')
  writeFileSync(join(output, 'SHA256SUMS'), sums)
  process.stdout.write(sums)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
