/**
 * What the project is shipped in: the image's steps in a clean folder, the files of compose, Helm and systemd.
 * No engine runs them here; each is checked as far as that goes.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, matchesGlob } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parse } from 'yaml'

import { settings } from '../src/config.ts'
import { freePort } from './support/upstream/unreachable-addresses.ts'
import { at, chartObjects, chartValues, type Json } from './support/deploy/helm.ts'
import { RelayProcess } from './support/server/relay-process.ts'
import { root } from './support/source-files.ts'

const known = new Set<string>(Object.values(settings).map(({ env }) => env))
/** Read by Node itself. */
const ofNode = new Set(['NODE_ENV', 'NODE_COMPILE_CACHE', 'NODE_EXTRA_CA_CERTS'])

function text(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'sluice-story-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

function areSettings(names: Iterable<string>, where: string): void {
  for (const name of names) assert.ok(known.has(name) || ofNode.has(name), `${where}: ${name} is no setting`)
}

/** What Docker would send to the build: `.dockerignore` read as Docker reads it, the last line that fits deciding. */
function sentToBuild(path: string): boolean {
  let isSent = true
  for (const line of text('.dockerignore').split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const isException = line.startsWith('!')
    const pattern = isException ? line.slice(1) : line
    if (pattern === '*' || matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`))
      isSent = isException
  }
  return isSent
}

/** The folders of the packages that run without the tools of development. */
function productionPackages(): string[] {
  const lock = JSON.parse(text('package-lock.json')) as { packages: Record<string, Json> }
  return Object.entries(lock.packages)
    .filter(
      ([path, about]) =>
        path.lastIndexOf('node_modules/') === 0 && about['dev'] !== true && about['optional'] !== true,
    )
    .map(([path]) => path)
}

/** What the stage `console` makes of what is sent to the build. */
function consoleIn(place: string): string {
  const sent = ['package.json', 'tsconfig.json', 'bin/*', 'src/**/*', 'console/**/*']
  for (const path of globSync(sent, { cwd: root, exclude: ['console/dist*'] })) {
    if (!sentToBuild(path) || statSync(join(root, path)).isDirectory()) continue
    mkdirSync(dirname(join(place, path)), { recursive: true })
    cpSync(join(root, path), join(place, path))
  }
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
  execFileSync(process.execPath, ['bin/build-console.js'], { cwd: place, stdio: 'pipe' })
  return join(place, 'console/dist')
}

/** The last stage of the image, in a folder. */
function imageIn(place: string): void {
  for (const line of text('Dockerfile')
    .split(/^FROM /m)
    .at(-1)
    ?.split('\n') ?? []) {
    const [, words] = /^COPY (?!--from)(.+)$/.exec(line) ?? []
    const parts = words?.split(' ') ?? []
    const target = parts.pop() ?? ''
    for (const source of parts) {
      for (const path of [source, ...globSync(`${source}/**/*`, { cwd: root })]) {
        const to = target === './' ? join(place, path) : join(place, path.replace(source, target))
        if (!/\.\w+$|LICENSE$/.test(path) || !sentToBuild(path)) continue
        mkdirSync(dirname(to), { recursive: true })
        cpSync(join(root, path), to)
      }
    }
  }
  for (const path of productionPackages()) {
    mkdirSync(dirname(join(place, path)), { recursive: true })
    symlinkSync(join(root, path), join(place, path))
  }
}

test('what the image holds starts in a clean folder, without the tools of development, and ends when told', async (t) => {
  const place = folder(t)
  const image = join(place, 'sluice')
  imageIn(image)
  cpSync(consoleIn(join(place, 'stage')), join(image, 'console/dist'), { recursive: true })
  const port = await freePort()
  const variables = [...text('Dockerfile').matchAll(/\b([A-Z_]+)=(\S+)/g)].filter(
    ([, name]) => name !== 'NODE',
  )
  areSettings(
    variables.map(([, name]) => name ?? ''),
    'Dockerfile',
  )
  const ofImage = Object.fromEntries(variables.map(([, name = '', value = '']) => [name, value]))
  const dataDir = join(place, 'data')
  const here = {
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: dataDir,
    NODE_COMPILE_CACHE: join(place, 'cache'),
  }
  const program = join(image, 'bin/sluice.js')
  const relay = new RelayProcess({ dataDir, env: { ...ofImage, ...here }, program }, port)
  t.after(() => relay.kill())
  await relay.ready()
  assert.equal((await fetch(`${relay.url}/console/`)).status, 200)
  const [, check = ''] = /HEALTHCHECK [^[]*CMD (\[.*\])/.exec(text('Dockerfile')) ?? []
  const [, ...words] = JSON.parse(check) as string[]
  const health = (env: Record<string, string>): number | null =>
    spawnSync(process.execPath, words, { env: { ...here, ...env } }).status
  assert.equal(health({}), 0)
  assert.equal(health({ TLS_CERT_FILE: 'cert.pem' }), 1)
  assert.equal((await relay.stop()).code, 0)
  assert.equal(health({}), 1)
})

test('the image is built from sources alone: no tests, no data, nothing of a developer’s', () => {
  for (const path of ['src/main.ts', 'bin/sluice.js', 'console/main.tsx', 'package-lock.json'])
    assert.ok(sentToBuild(path), path)
  for (const path of [
    'data/sluice.db',
    '.env',
    '.git/config',
    'node_modules/zod/package.json',
    'test/house.ts',
  ])
    assert.ok(!sentToBuild(path), path)
  assert.ok(!sentToBuild('src/ledger/step.test.ts') && !sentToBuild('src/lib/certificate.fixture.ts'))
  const [, , last = ''] = text('Dockerfile').split(/^FROM \$\{NODE\}/m)
  assert.ok(text('Dockerfile').includes('\nUSER node\n') && last !== '')
})

test('the nodes of compose.yaml have settings that exist, volumes of their own and time to end', () => {
  const file = parse(text('compose.yaml'), { merge: true }) as Json
  for (const name of ['one', 'two']) {
    areSettings(Object.keys(at(file, `services.${name}.environment`) as Json), name)
    assert.deepEqual(at(file, `services.${name}.volumes`), [`${name}:/data`])
    assert.equal(at(file, `services.${name}.stop_grace_period`), '330s')
  }
  for (const volume of ['one', 'two', 'postgres']) assert.ok(volume in (file['volumes'] as Json))
  const built = Object.entries(file['services'] as Json).filter(([, service]) => at(service, 'build'))
  assert.deepEqual(
    built.map(([name]) => name),
    ['one'],
  )
  assert.equal(at(file, 'services.one.image'), at(file, 'services.two.image'))
  const servers = [...text('deploy/nginx/compose.conf').matchAll(/^ {2}server (\S+) resolve /gm)]
  assert.deepEqual(
    servers.map(([, server]) => server),
    ['one:8080', 'two:8080'],
  )
})

test('the Helm chart renders to objects that fit together', () => {
  areSettings(Object.keys(chartValues()['settings'] as Json), 'values.yaml')
  const objects = chartObjects({ 'ingress.enabled': true, replicas: 3, 'settings.WORKERS': 4 })
  const kinds = objects.map((object) => String(object['kind'])).toSorted()
  assert.deepEqual(kinds, [
    'ConfigMap',
    'Ingress',
    'PodDisruptionBudget',
    'Service',
    'Service',
    'StatefulSet',
  ])
  const nodes = objects.find(({ kind }) => kind === 'StatefulSet')
  const labels = at(nodes, 'spec.template.metadata.labels')
  for (const object of objects.filter(({ kind }) => kind === 'Service')) {
    assert.deepEqual(at(object, 'spec.selector'), labels)
  }
  assert.deepEqual(at(nodes, 'spec.selector.matchLabels'), labels)
  const names = objects.map((object) => at(object, 'metadata.name'))
  assert.ok(names.includes(at(nodes, 'spec.serviceName')))
  const [container] = at(nodes, 'spec.template.spec.containers') as Json[]
  const mounts = (at(container, 'volumeMounts') as Json[]).map(({ name }) => String(name))
  const volumes = [
    ...(at(nodes, 'spec.template.spec.volumes') as Json[]).map(({ name }) => String(name)),
    ...(at(nodes, 'spec.volumeClaimTemplates') as Json[]).map((claim) => String(at(claim, 'metadata.name'))),
  ]
  assert.deepEqual(mounts.toSorted(), volumes.toSorted())
  const settingsOfNodes = at(
    objects.find(({ kind }) => kind === 'ConfigMap'),
    'data',
  ) as Json
  assert.equal(settingsOfNodes['WORKERS'], '4')
  assert.ok(Object.values(settingsOfNodes).every((value) => typeof value === 'string'))
  const wanted = (at(container, 'env') as Json[]).map(({ name }) => String(name))
  assert.deepEqual(wanted, ['ENCRYPTION_KEY', 'DATABASE_URL'])
  const drainSeconds = Number.parseInt(String(settingsOfNodes['DRAIN_DELAY']))
  const { periodSeconds, timeoutSeconds, failureThreshold } = at(container, 'readinessProbe') as Json
  assert.ok((Number(periodSeconds) + Number(timeoutSeconds)) * Number(failureThreshold) < drainSeconds)
  assert.ok(Number(at(nodes, 'spec.template.spec.terminationGracePeriodSeconds')) > drainSeconds + 300)
})

test('a chart of one node needs no database, and a change of its settings brings a new node', () => {
  const nodesWith = (set: Record<string, string>): Json | undefined =>
    chartObjects(set).find(({ kind }) => kind === 'StatefulSet')
  const [one, other] = [nodesWith({}), nodesWith({ 'settings.DRAIN_DELAY': '20s' })]
  const [container] = at(one, 'spec.template.spec.containers') as Json[]
  assert.deepEqual(
    (at(container, 'env') as Json[]).map(({ name }) => name),
    ['ENCRYPTION_KEY'],
  )
  const sumOf = (node: Json | undefined): unknown => {
    const annotations = at(node, 'spec.template.metadata.annotations') as Json
    return annotations['checksum/settings']
  }
  assert.notEqual(sumOf(one), sumOf(other))
})

test('the systemd unit sets what exists and starts what is there', () => {
  const unit = text('deploy/systemd/sluice.service')
  areSettings(
    [...unit.matchAll(/^Environment=([A-Z_]+)=/gm)].map(([, name]) => name ?? ''),
    'sluice.service',
  )
  // A file of settings wins over the unit's own: what one begins with must not.
  const example = [...text('.env.example').matchAll(/^#?([A-Z_]+)=/gm)].map(([whole]) => whole)
  areSettings(
    example.map((whole) => whole.replace(/[#=]/g, '')),
    '.env.example',
  )
  assert.ok(!example.includes('DATA_DIR='))
  const [, program] = /^ExecStart=\S+ (\S+) serve$/m.exec(unit) ?? []
  assert.ok(text(program ?? '').includes('main.ts'))
})

test('every setting and every command in the pages for operators exists, and every link leads to a file', () => {
  const groups = [...text('src/main.ts').matchAll(/^ {4}name: '(\w+)'/gm)].map(([, name]) => name)
  const names = ['operations', 'capacity', 'configuration', 'console', 'money', 'api', 'messages']
  const pages = ['README.md', 'README.zh-CN.md', ...names.map((name) => `docs/${name}.md`)]
  for (const page of pages) {
    const words = text(page)
    const named = [
      ...words.matchAll(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g),
      ...words.matchAll(/(?:^|[ ;(])([A-Z]+(?:_[A-Z]+)+)=/gm),
    ].map(([, name]) => name ?? '')
    areSettings(
      named
        .filter((name) => !name.startsWith('ANTHROPIC_'))
        .map((name) => (known.has(name) ? name : name.replace(/_FILE$/, ''))),
      page,
    )
    for (const [, command] of words.matchAll(/(?:^|npx |`|exec \w+ )sluice (\w+)/gm))
      assert.ok(groups.includes(command), `${page}: sluice ${command}`)
    for (const [, link = ''] of words.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      assert.ok(existsSync(join(root, dirname(page), link)), `${page}: ${link}`)
  }
})
