// @backend sqlite – tests the files that ship, not a store
// @suite all – builds all packages and installs them
/**
 * The packages of `npm run package`: what is in them, and that each starts in an empty folder of a machine without a
 * compiler, makes the README's first call, and upgrades the data of an earlier release.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  cpSync,
  globSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'

import { quoteLiteral } from '../../../src/db/postgres/sql-text.ts'
import { version } from '../../../src/lib/version.ts'
import {
  assertFirstCall,
  buildPackages,
  createFolder,
  createPath,
  listArchive,
  startDemonstration,
} from '../../support/deploy/packages.ts'
import { copyBuildContext } from '../../support/deploy/docker-context.ts'
import { assertSettings } from '../../support/deploy/setting-names.ts'
import { freePort } from '../../support/upstream/unreachable-addresses.ts'
import { assertServes, createFile, earlierVersions, withFile } from '../../support/server/earlier-schemas.ts'
import { startRelay } from '../../support/server/relay-process.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { readText, root } from '../../support/source-files.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const npmPackage = `sluice-${version}.tgz`
const tarball = `sluice-${version}-linux-x64.tar.gz`
const armTarball = `sluice-${version}-linux-arm64.tar.gz`
const chart = `sluice-chart-${version}.tgz`

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

function extract(archive: string): string {
  const folder = createFolder()
  execFileSync('tar', ['-xzf', archive, '-C', folder])
  return folder
}

/** The hash of every file in a folder, by path. */
function hashFiles(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  const paths = files.map((file) => join(file.parentPath, file.name)).toSorted()
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length), sha256(path)]))
}

describe('Packages', () => {
  let folder: string
  /** The folder in the x64 tarball, and the one in the npm package. */
  let release: string
  let unpacked: string
  const path = (name: string): string => join(folder, name)

  before(() => {
    folder = buildPackages(root)
    release = join(extract(path(tarball)), `sluice-${version}`)
    unpacked = join(extract(path(npmPackage)), 'package')
  })

  test('Build – the same sources give the same bytes, with their sums', () => {
    const names = [npmPackage, tarball, armTarball, chart]
    const sums = names
      .map((name) => `${sha256(path(name))}  ${name}`)
      .toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1))
    assert.equal(readFileSync(path('SHA256SUMS'), 'utf8'), `${sums.join('\n')}\n`)
    // In another folder, from what Docker sends to the build of the image and what else the tarball contains.
    const context = createFolder()
    copyBuildContext(context)
    for (const name of ['.env.example', 'deploy'])
      cpSync(join(root, name), join(context, name), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(context, 'node_modules'))
    const again = buildPackages(context, 'linux-x64', 'chart')
    for (const name of [npmPackage, tarball, chart])
      assert.equal(sha256(join(again, name)), sha256(path(name)), name)
  })

  test('npm package – has compiled sources, the console and what belongs to it, and no tests', () => {
    const entries = listArchive(path(npmPackage))
    const names = entries.map((entry) => entry.slice(11))
    assert.ok(entries.includes('-rwxr-xr-x bin/sluice'))
    for (const name of [
      'LICENSE',
      'README.md',
      'console/dist/index.html',
      'docs/configuration.md',
      'sbom/sluice.cdx.json',
    ])
      assert.ok(names.includes(name), name)
    const compiled = globSync('src/**/*.ts', { cwd: root, exclude: ['**/*.{test,long,fixture}.ts'] })
    const fonts = globSync('src/http/pdf/fonts/*', { cwd: root })
    assert.deepEqual(
      names.filter((name) => /^src\/.*[^/]$/.test(name)).toSorted(),
      [...compiled.map((name) => name.replace(/ts$/, 'js')), ...fonts].toSorted(),
    )
    const unwanted =
      /\.([cm]?ts|map|node|wasm|so)$|(^|[./])(test|spec|fixture)\.[cm]?js$|\/(tests?|fixtures|__tests__)\//
    assert.deepEqual(
      names.filter((name) => unwanted.test(name)),
      [],
    )
  })

  test('npm package – has exact dependencies inside it and runs no script at its installation', () => {
    const manifest = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8')) as Record<
      string,
      object
    >
    const source = JSON.parse(readText('package.json')) as Record<string, object>
    for (const field of ['dependencies', 'optionalDependencies'])
      assert.deepEqual(manifest[field], source[field])
    assert.deepEqual(manifest['bundleDependencies'], Object.keys(source['dependencies'] ?? {}))
    for (const field of ['scripts', 'devDependencies', 'files']) assert.ok(!(field in manifest), field)
    const code = globSync('{bin,src}/**/*.js', { cwd: unpacked }).map((name) =>
      readFileSync(join(unpacked, name), 'utf8'),
    )
    for (const text of code) assert.doesNotMatch(text, /sourceMappingURL|['"]\.\.?\/[^'"\n]+\.ts['"]/)
    const sbom = readFileSync(join(unpacked, 'sbom/sluice.cdx.json'), 'utf8')
    for (const [name, exact] of Object.entries(source['dependencies'] ?? {}))
      assert.ok(sbom.includes(`"${name}@${exact}"`), name)
  })

  test('npm package – npx starts it in an empty folder on the Node.js of the system', async (t) => {
    const cwd = createFolder()
    copyFileSync(path(npmPackage), join(cwd, npmPackage))
    const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
    const PATH = createPath('node', 'npm', 'npx', 'sh', 'readlink')
    // The build has put the optional Node.js into npm's cache: npm asks the registry only for its name.
    const env = { PATH, HOME: createFolder(), npm_config_cache: cache, npm_config_prefer_offline: 'true' }
    const options = { cwd, env: { ...env, npm_config_update_notifier: 'false' } }
    const demonstration = await startDemonstration(t, ['npx', '--yes', `./${npmPackage}`, 'serve'], options)
    assert.doesNotMatch(demonstration.output, /warn/i)
    await assertFirstCall(demonstration)
    assert.equal((await fetch(`${demonstration.url}/console/`)).status, 200)
    await demonstration.stop()
    assert.ok(readdirSync(cwd).includes('data'))
  })

  test('npm package – without the optional Node.js, an old one gets advice', () => {
    const old = `Object.defineProperty(process.versions, 'node', { value: '20.20.2' })`
    const env = {
      PATH: process.env['PATH'],
      NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(old)}"`,
    }
    const { status, stderr } = spawnSync(join(unpacked, 'bin/sluice'), ['serve'], { env, encoding: 'utf8' })
    assert.equal(status, 1)
    assert.match(
      stderr,
      /^Sluice cannot start: it needs Node\.js 24\.15 or newer.* with the command `sluice`/,
    )
  })

  test('Tarballs – those of both architectures differ only in Node.js', () => {
    assert.deepEqual(listArchive(path(armTarball)), listArchive(path(tarball)))
    const other = join(extract(path(armTarball)), `sluice-${version}`)
    const [armHashes, x64Hashes] = [other, release].map(hashFiles)
    assert.ok(armHashes !== undefined && x64Hashes !== undefined)
    const differing = Object.keys(x64Hashes).filter((name) => armHashes[name] !== x64Hashes[name])
    assert.deepEqual(differing, ['/bin/node'])
    const machine = (top: string): number => readFileSync(join(top, 'bin/node')).readUInt16LE(18)
    // EM_X86_64 and EM_AARCH64 in the ELF header.
    assert.deepEqual([machine(release), machine(other)], [62, 183])
  })

  test('Tarball – starts on a machine without Node.js and npm', async (t) => {
    const unit = readFileSync(join(release, 'sluice.service'), 'utf8')
    assert.match(unit, /^ExecStart=\/opt\/sluice\/current\/bin\/sluice serve$/m)
    const cwd = createFolder()
    const env = { PATH: createPath('readlink'), HOME: cwd }
    const demonstration = await startDemonstration(t, [join(release, 'bin/sluice'), 'serve'], { cwd, env })
    await assertFirstCall(demonstration)
    assert.equal((await fetch(`${demonstration.url}/console/`)).status, 200)
    await demonstration.stop()
  })

  test('Tarball – upgrades the data of an earlier release, started by the link', async (t) => {
    const server = await startTestServer(t)
    await server.model('m', {
      upstreams: [await server.upstream(respondWith('Hi!', { input: 1000, output: 1000 }))],
    })
    const account = await server.account({ balance: '100' })
    await assertServes(server, account)
    const balance = await account.balance()
    await server.stop()
    const { dataDir, relay } = server
    const database = join(dataDir, 'sluice.db')
    const earlier = join(createFolder(), 'earlier.db')
    await withFile(database, (from) => createFile(earlierVersions.at(-1) ?? 0, from, earlier))
    await withFile(database, (from) => from.exec('pragma journal_mode = delete'))
    rmSync(database)
    await withFile(earlier, (from) => from.exec(`vacuum into ${quoteLiteral(database)}`))

    const current = join(createFolder(), 'current')
    symlinkSync(release, current)
    const env = { PATH: createPath('readlink') }
    server.relay = await startRelay({ dataDir, port: relay.port, env, program: join(current, 'bin/sluice') })
    assert.equal(realpathSync(`/proc/${server.relay.pid}/exe`), join(release, 'bin/node'))
    assert.equal(await account.balance(), balance)
    await assertServes(server, account)
    await server.assertNoOpenHolds()
    assert.equal((await server.stop()).code, 0)
  })

  test('Image – contains the npm package and stops on SIGTERM', async (t) => {
    const dockerfile = readText('Dockerfile')
    assert.ok(
      dockerfile.includes('npm run package -- npm\n') &&
        dockerfile.includes('\nCOPY --from=package /package ./\n'),
    )
    const variables = [...dockerfile.matchAll(/\b([A-Z_]+)=(\S+)/g)].filter(([, name]) => name !== 'NODE')
    assertSettings(
      variables.map(([, name]) => name ?? ''),
      'Dockerfile',
    )
    const imageEnv = Object.fromEntries(variables.map(([, name = '', value = '']) => [name, value]))
    const dataDir = createFolder()
    const port = await freePort()
    const localEnv = { HOST: '127.0.0.1', PORT: String(port), NODE_COMPILE_CACHE: createFolder() }
    const program = join(unpacked, 'bin/sluice.js')
    const env = { ...imageEnv, ...localEnv, DATA_DIR: dataDir }
    const relay = await startRelay({ dataDir, port, env, program })
    t.after(() => relay.kill())
    assert.equal((await fetch(`${relay.url}/console/`)).status, 200)
    const [, check = ''] = /HEALTHCHECK [^[]*CMD (\[.*\])/.exec(dockerfile) ?? []
    const [, ...args] = JSON.parse(check) as string[]
    const health = (more: Record<string, string>): number | null =>
      spawnSync(process.execPath, args, { env: { ...localEnv, ...more } }).status
    assert.equal(health({}), 0)
    assert.equal(health({ TLS_CERT_FILE: 'cert.pem' }), 1)
    assert.equal((await relay.stop()).code, 0)
    assert.equal(health({}), 1)
  })

  test('Chart – has the files of deploy/helm in a folder of its name', () => {
    const expected = globSync('**/*', { cwd: join(root, 'deploy/helm'), withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name).slice(join(root, 'deploy/helm/').length))
    const entries = listArchive(path(chart)).filter((entry) => entry.startsWith('-'))
    assert.deepEqual(
      entries.map((entry) => entry.slice(11)),
      expected.toSorted(),
    )
    assert.deepEqual(readdirSync(extract(path(chart))), ['sluice'])
  })
})
