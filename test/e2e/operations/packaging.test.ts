// @backend sqlite – tests the files that ship, not a store
/**
 * The ways the project ships: the steps of the image in a clean folder, and the files of compose, Helm and systemd.
 * Docker and Kubernetes do not run here; each file is checked as far as possible without them.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, matchesGlob } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { parse } from 'yaml'

import { checkProcessFiles } from '../../../src/cli/doctor/hardening.ts'
import { freePort } from '../../support/upstream/unreachable-addresses.ts'
import { valueAt, renderChart, chartValues, type Json } from '../../support/deploy/helm.ts'
import { RelayProcess } from '../../support/server/relay-process.ts'
import { assertSettings } from '../../support/deploy/setting-names.ts'
import { readText, root } from '../../support/source-files.ts'

function createFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Whether Docker sends this path to the build: as in `.dockerignore`, the last matching line decides. */
function isSentToBuild(path: string): boolean {
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

/** The folders of the packages that are needed at run time. */
function productionPackages(): string[] {
  const lock = JSON.parse(readText('package-lock.json')) as { packages: Record<string, Json> }
  return Object.entries(lock.packages)
    .filter(
      ([path, entry]) =>
        path.lastIndexOf('node_modules/') === 0 && entry['dev'] !== true && entry['optional'] !== true,
    )
    .map(([path]) => path)
}

/** Builds the console as the image's stage `console` does. */
function buildConsoleStage(folder: string): string {
  const patterns = ['package.json', 'tsconfig.json', 'bin/*', 'src/**/*', 'console/**/*']
  for (const path of globSync(patterns, { cwd: root, exclude: ['console/dist*'] })) {
    if (!isSentToBuild(path) || statSync(join(root, path)).isDirectory()) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(root, path), join(folder, path))
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  execFileSync(process.execPath, ['bin/build-console.js'], { cwd: folder, stdio: 'pipe' })
  return join(folder, 'console/dist')
}

/** Builds the last stage of the image in a folder. */
function buildImage(folder: string): void {
  for (const line of readText('Dockerfile')
    .split(/^FROM /m)
    .at(-1)
    ?.split('\n') ?? []) {
    const [, args] = /^COPY (?!--from)(.+)$/.exec(line) ?? []
    const parts = args?.split(' ') ?? []
    const target = parts.pop() ?? ''
    for (const source of parts) {
      for (const path of [source, ...globSync(`${source}/**/*`, { cwd: root })]) {
        const to = target === './' ? join(folder, path) : join(folder, path.replace(source, target))
        if (!/\.\w+$|LICENSE$/.test(path) || !isSentToBuild(path)) continue
        mkdirSync(dirname(to), { recursive: true })
        cpSync(join(root, path), to)
      }
    }
  }
  for (const path of productionPackages()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    symlinkSync(join(root, path), join(folder, path))
  }
}

describe('Packaging', () => {
  test('Image – starts in a clean folder without development tools and stops on SIGTERM', async (t) => {
    const folder = createFolder(t)
    const image = join(folder, 'sluice')
    buildImage(image)
    cpSync(buildConsoleStage(join(folder, 'stage')), join(image, 'console/dist'), { recursive: true })
    const port = await freePort()
    const variables = [...readText('Dockerfile').matchAll(/\b([A-Z_]+)=(\S+)/g)].filter(
      ([, name]) => name !== 'NODE',
    )
    assertSettings(
      variables.map(([, name]) => name ?? ''),
      'Dockerfile',
    )
    const imageEnv = Object.fromEntries(variables.map(([, name = '', value = '']) => [name, value]))
    const dataDir = join(folder, 'data')
    const localEnv = {
      HOST: '127.0.0.1',
      PORT: String(port),
      DATA_DIR: dataDir,
      NODE_COMPILE_CACHE: join(folder, 'cache'),
    }
    const program = join(image, 'bin/sluice.js')
    const relay = new RelayProcess({ dataDir, env: { ...imageEnv, ...localEnv }, program }, port)
    t.after(() => relay.kill())
    await relay.ready()
    assert.equal((await fetch(`${relay.url}/console/`)).status, 200)
    const [, check = ''] = /HEALTHCHECK [^[]*CMD (\[.*\])/.exec(readText('Dockerfile')) ?? []
    const [, ...args] = JSON.parse(check) as string[]
    const health = (env: Record<string, string>): number | null =>
      spawnSync(process.execPath, args, { env: { ...localEnv, ...env } }).status
    assert.equal(health({}), 0)
    assert.equal(health({ TLS_CERT_FILE: 'cert.pem' }), 1)
    assert.equal((await relay.stop()).code, 0)
    assert.equal(health({}), 1)
  })

  test('Image build – gets only sources: no tests, no data, no local files', () => {
    for (const path of ['src/main.ts', 'bin/sluice.js', 'console/main.tsx', 'package-lock.json'])
      assert.ok(isSentToBuild(path), path)
    for (const path of [
      'data/sluice.db',
      '.env',
      '.git/config',
      'node_modules/zod/package.json',
      'test/support/server/test-server.ts',
    ])
      assert.ok(!isSentToBuild(path), path)
    assert.ok(
      !isSentToBuild('src/ledger/operations.test.ts') && !isSentToBuild('src/lib/certificate.fixture.ts'),
    )
    const [, , last = ''] = readText('Dockerfile').split(/^FROM \$\{NODE\}/m)
    assert.ok(readText('Dockerfile').includes('\nUSER node\n') && last !== '')
  })

  test('compose.yaml – nodes have existing settings, their own volumes and time to stop', () => {
    const file = parse(readText('compose.yaml'), { merge: true }) as Json
    for (const name of ['one', 'two']) {
      assertSettings(Object.keys(valueAt(file, `services.${name}.environment`) as Json), name)
      assert.deepEqual(valueAt(file, `services.${name}.volumes`), [`${name}:/data`])
      assert.equal(valueAt(file, `services.${name}.stop_grace_period`), '330s')
      assert.equal(valueAt(file, `services.${name}.ulimits.core`), 0)
    }
    for (const volume of ['one', 'two', 'postgres']) assert.ok(volume in (file['volumes'] as Json))
    const built = Object.entries(file['services'] as Json).filter(([, service]) => valueAt(service, 'build'))
    assert.deepEqual(
      built.map(([name]) => name),
      ['one'],
    )
    assert.equal(valueAt(file, 'services.one.image'), valueAt(file, 'services.two.image'))
    const proxyAddress = valueAt(file, 'services.proxy.networks.edge.ipv4_address')
    assert.equal(valueAt(file, 'services.one.environment.TRUST_PROXY'), `${String(proxyAddress)}/32`)
    const servers = [...readText('deploy/nginx/compose.conf').matchAll(/^ {2}server (\S+) resolve /gm)]
    assert.deepEqual(
      servers.map(([, server]) => server),
      ['one:8080', 'two:8080'],
    )
  })

  test('compose.yaml – every service is confined', () => {
    const services = (parse(readText('compose.yaml'), { merge: true }) as Json)['services'] as Json
    for (const [name, service] of Object.entries(services)) {
      assert.equal(valueAt(service, 'read_only'), true, name)
      assert.deepEqual(valueAt(service, 'cap_drop'), ['ALL'], name)
      assert.deepEqual(valueAt(service, 'security_opt'), ['no-new-privileges:true'], name)
      assert.ok(valueAt(service, 'logging.options.max-size'), name)
      const isNode = name === 'one' || name === 'two'
      assert.ok(!isNode || valueAt(service, 'cap_add') === undefined, name)
    }
  })

  test('Helm chart – renders objects that refer to each other correctly', () => {
    assertSettings(Object.keys(chartValues()['settings'] as Json), 'values.yaml')
    const objects = renderChart({ 'ingress.enabled': true, replicas: 3, 'settings.WORKERS': 4 })
    const kinds = objects.map((object) => String(object['kind'])).toSorted()
    assert.deepEqual(kinds, [
      'ConfigMap',
      'Ingress',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'Service',
      'StatefulSet',
    ])
    const nodes = objects.find(({ kind }) => kind === 'StatefulSet')
    const labels = valueAt(nodes, 'spec.template.metadata.labels')
    for (const object of objects.filter(({ kind }) => kind === 'Service')) {
      assert.deepEqual(valueAt(object, 'spec.selector'), labels)
    }
    assert.deepEqual(valueAt(nodes, 'spec.selector.matchLabels'), labels)
    const policy = objects.find(({ kind }) => kind === 'NetworkPolicy')
    assert.deepEqual(valueAt(policy, 'spec.podSelector.matchLabels'), labels)
    const [allowed] = valueAt(policy, 'spec.ingress') as Json[]
    assert.ok((valueAt(allowed, 'from') as Json[]).length > 0)
    const ingress = objects.find(({ kind }) => kind === 'Ingress')
    const [rule] = valueAt(ingress, 'spec.rules') as Json[]
    const published = (valueAt(rule, 'http.paths') as Json[]).map(({ path }) => String(path))
    assert.ok(published.includes('/v1') && published.includes('/console'))
    for (const path of ['/', '/metrics', '/readyz']) assert.ok(!published.includes(path), path)
    const names = objects.map((object) => valueAt(object, 'metadata.name'))
    assert.ok(names.includes(valueAt(nodes, 'spec.serviceName')))
    const [container] = valueAt(nodes, 'spec.template.spec.containers') as Json[]
    const mounts = (valueAt(container, 'volumeMounts') as Json[]).map(({ name }) => String(name))
    const volumes = [
      ...(valueAt(nodes, 'spec.template.spec.volumes') as Json[]).map(({ name }) => String(name)),
      ...(valueAt(nodes, 'spec.volumeClaimTemplates') as Json[]).map((claim) =>
        String(valueAt(claim, 'metadata.name')),
      ),
    ]
    assert.deepEqual(mounts.toSorted(), volumes.toSorted())
    const nodeSettings = valueAt(
      objects.find(({ kind }) => kind === 'ConfigMap'),
      'data',
    ) as Json
    assert.equal(nodeSettings['WORKERS'], '4')
    assert.ok(Object.values(nodeSettings).every((value) => typeof value === 'string'))
    const secretVariables = (valueAt(container, 'env') as Json[]).map(({ name }) => String(name))
    assert.deepEqual(secretVariables, ['ENCRYPTION_KEY', 'DATABASE_URL'])
    const drainSeconds = Number.parseInt(String(nodeSettings['DRAIN_DELAY']))
    const { periodSeconds, timeoutSeconds, failureThreshold } = valueAt(container, 'readinessProbe') as Json
    assert.ok((Number(periodSeconds) + Number(timeoutSeconds)) * Number(failureThreshold) < drainSeconds)
    assert.ok(Number(valueAt(nodes, 'spec.template.spec.terminationGracePeriodSeconds')) > drainSeconds + 300)
  })

  test('Helm chart with one node – needs no database, and changed settings replace the pod', () => {
    const renderNodes = (set: Record<string, string>): Json | undefined =>
      renderChart(set).find(({ kind }) => kind === 'StatefulSet')
    const [one, other] = [renderNodes({}), renderNodes({ 'settings.DRAIN_DELAY': '20s' })]
    const [container] = valueAt(one, 'spec.template.spec.containers') as Json[]
    assert.deepEqual(
      (valueAt(container, 'env') as Json[]).map(({ name }) => name),
      ['ENCRYPTION_KEY'],
    )
    const settingsChecksum = (node: Json | undefined): unknown => {
      const annotations = valueAt(node, 'spec.template.metadata.annotations') as Json
      return annotations['checksum/settings']
    }
    assert.notEqual(settingsChecksum(one), settingsChecksum(other))
  })

  test('systemd unit – sets existing settings and starts an existing program', () => {
    const unit = readText('deploy/systemd/sluice.service')
    assertSettings(
      [...unit.matchAll(/^Environment=([A-Z_]+)=/gm)].map(([, name]) => name ?? ''),
      'sluice.service',
    )
    // The settings file overrides the unit, so the example must not set DATA_DIR.
    const example = [...readText('.env.example').matchAll(/^#?([A-Z_]+)=/gm)].map(([whole]) => whole)
    assertSettings(
      example.map((whole) => whole.replace(/[#=]/g, '')),
      '.env.example',
    )
    assert.ok(!example.includes('DATA_DIR='))
    const security = spawnSync(
      'systemd-analyze',
      ['security', '--offline=true', '--threshold=20', 'deploy/systemd/sluice.service'],
      { cwd: root, encoding: 'utf8' },
    )
    // The exposure is 1.7 of 10. Machines without systemd have no such program.
    if (security.error === undefined) assert.equal(security.status, 0, security.stdout)
    // Everything that `sluice doctor` would miss in an unconfined process.
    const status = 'Uid:\t0\nCapPrm:\t1\nNoNewPrivs:\t0\nSeccomp:\t0\n'
    const findings = checkProcessFiles({ status, limits: '', mountInfo: '1 0 0:1 / / rw - ext4 x rw\n' })
    assert.equal(findings.length, 6)
    for (const { advice = '' } of findings) {
      const [, line = ''] = /systemd: (\w+=[\w@-]*)/.exec(advice) ?? []
      assert.match(unit, new RegExp(`^${line}$`, 'm'))
    }
    const [, program = ''] = /^ExecStart=\/opt\/sluice\/(\S+) serve$/m.exec(unit) ?? []
    assert.equal(statSync(join(root, program)).mode & 0o777, 0o755)
  })
})
