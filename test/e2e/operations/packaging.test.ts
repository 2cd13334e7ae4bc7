// @backend sqlite – tests the files that ship, not a store
/**
 * The files of Docker, compose, Helm and systemd, and the workflow of a release. Docker and Kubernetes do not run here;
 * each file is checked as far as possible without them. packages.test.ts builds and starts what ships.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { parse } from 'yaml'
import { z } from 'zod'

import { checkProcessFiles } from '../../../src/cli/doctor/hardening.ts'
import { settings } from '../../../src/config.ts'
import { version } from '../../../src/lib/version.ts'
import { isSentToBuild } from '../../support/deploy/docker-context.ts'
import { valueAt, renderChart, chartValues, withValue, type Json } from '../../support/deploy/helm.ts'
import { assertSettings } from '../../support/deploy/setting-names.ts'
import { readText, root } from '../../support/source-files.ts'

describe('Packaging', () => {
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
    assert.match(readText('Dockerfile'), /^USER node$/m)
  })

  test('Image, chart and package – name one version', () => {
    const [, image] = /org\.opencontainers\.image\.version="(.+)"/.exec(readText('Dockerfile')) ?? []
    assert.equal(image, version)
    const { version: chartVersion, appVersion } = parse(readText('deploy/helm/Chart.yaml')) as Json
    const tag = valueAt(chartValues(), 'image.tag')
    assert.deepEqual([chartVersion, appVersion, tag], [version, version, version])
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
    const objects = renderChart({
      'ingress.enabled': true,
      'serviceMonitor.enabled': true,
      replicas: 3,
      'settings.WORKERS': 4,
    })
    const kinds = objects.map((object) => String(object['kind'])).toSorted()
    assert.deepEqual(kinds, [
      'ConfigMap',
      'Ingress',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'Service',
      'ServiceMonitor',
      'StatefulSet',
    ])
    const nodes = objects.find(({ kind }) => kind === 'StatefulSet')
    const labels = valueAt(nodes, 'spec.template.metadata.labels')
    for (const object of objects.filter(({ kind }) => kind === 'Service')) {
      assert.deepEqual(valueAt(object, 'spec.selector'), labels)
    }
    assert.deepEqual(valueAt(nodes, 'spec.selector.matchLabels'), labels)
    const monitored = valueAt(
      objects.find(({ kind }) => kind === 'ServiceMonitor'),
      'spec.selector.matchLabels',
    )
    const monitoredServices = objects.filter(
      ({ kind, metadata }) => kind === 'Service' && isDeepStrictEqual(valueAt(metadata, 'labels'), monitored),
    )
    assert.deepEqual(
      monitoredServices.map((service) => valueAt(service, 'metadata.name')),
      ['relay-nodes'],
    )
    const budget = objects.find(({ kind }) => kind === 'PodDisruptionBudget')
    assert.deepEqual(valueAt(budget, 'spec.selector.matchLabels'), labels)
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

  test('Helm chart – its schema admits the values, and rejects misspelled ones and secrets', () => {
    const schema = z.fromJSONSchema(
      JSON.parse(readText('deploy/helm/values.schema.json')) as z.core.JSONSchema.BaseSchema,
    )
    const issueOf = (path: string, value: unknown): string | undefined =>
      schema.safeParse(withValue(chartValues(), [path, value])).error?.issues[0]?.path.join('.')
    assert.equal(issueOf('replicas', 3), undefined)
    assert.equal(issueOf('settings.WORKERS', 4), undefined)
    assert.equal(issueOf('replica', 3), '')
    assert.equal(issueOf('replicas', 0), 'replicas')
    assert.equal(issueOf('networkPolicy.form', []), 'networkPolicy')
    assert.equal(issueOf('storage.size', '20 GB'), 'storage.size')
    assert.equal(issueOf('settings.workers', '4'), 'settings.workers')
    const secrets = Object.values(settings).flatMap((each) => ('secret' in each ? each.env : []))
    assert.ok(secrets.length > 10)
    for (const name of secrets) assert.equal(issueOf(`settings.${name}`, 'x'), `settings.${name}`)
  })

  test('Workflow – runs existing scripts and builds the image for both architectures', () => {
    const text = readText('.github/workflows/release.yml')
    const { jobs } = parse(text) as { jobs: Record<string, { steps: Json[] }> }
    const { scripts } = JSON.parse(readText('package.json')) as { scripts: Json }
    const used = Array.from(text.matchAll(/npm run ([\w:]+)/g), ([, name = '']) => name)
    assert.ok(used.length > 0 && used.every((name) => name in scripts), used.join(' '))
    const build = jobs['image']?.steps.find((step) => valueAt(step, 'with.platforms') !== undefined)
    assert.equal(valueAt(build, 'with.platforms'), 'linux/amd64,linux/arm64')
    assert.equal(valueAt(build, 'with.sbom'), true)
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
