/** The doctor's look at the relay: who runs, the database, models, and every upstream. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { localJournalFileName } from '../../db/sqlite/local-journal.ts'
import { openReadOnly } from '../../db/sqlite/read-only.ts'
import { sql } from '../../db/schema/schema.ts'
import { parseCidrs } from '../../lib/address-guard.ts'
import { errorWords } from '../../lib/error-message.ts'
import { proxyOf } from '../../lib/http-client/proxy.ts'
import { hasControl } from '../../server/control-socket.ts'
import { LockedError, nameOf, takeLock } from '../../server/lock.ts'
import { reach } from '../../server/connection-checks.ts'
import { listAll, openControl, type Control } from '../admin-client.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { given } from '../options.ts'
import { CommandError, fieldAt, fieldsOf, type Fields } from '../output.ts'

const connectMaxMs = 5000

/** Whether a relay runs, and whether it can be spoken to. */
export async function checkHolder(dataDir: string): Promise<{ finding: Finding; isRunning: boolean }> {
  const name = 'relay'
  const isRunning = await hasControl(dataDir)
  try {
    takeLock(dataDir, { command: 'doctor', waitMs: 0 }).release()
  } catch (error) {
    if (!(error instanceof LockedError)) throw error
    const who = nameOf(error.holder)
    if (isRunning) return { finding: ok(name, `${who} is running`), isRunning }
    const advice = 'It is starting or ending, or another command works: look again in a moment.'
    return {
      finding: warn(name, `${who} has ${dataDir}, and its control socket does not answer`, advice),
      isRunning,
    }
  }
  return { finding: ok(name, `none is running on ${dataDir}`), isRunning: false }
}

/** Whether the file opens and is sound, and when its ledger was last written. */
export async function checkDatabase(
  dataDir: string,
): Promise<{ finding: Finding; lastWrittenMs: number | null }> {
  const name = 'database'
  const path = join(dataDir, 'sluice.db')
  const advice = 'Keep the file as it is and restore a backup: sluice restore <folder> --force.'
  try {
    const still = openReadOnly(path)
    try {
      const damages = still.damages()
      const last = await still.db.first(
        sql.selectFrom('journal').select('at').orderBy('seq', 'desc').limit(1),
      )
      const lastWrittenMs = last?.at ?? null
      if (damages.length > 0)
        return { finding: fail(name, `${path} is damaged: ${damages[0]}`, advice), lastWrittenMs }
      return { finding: ok(name, `${path} opens and is sound`), lastWrittenMs }
    } finally {
      still.close()
    }
  } catch (error) {
    const why = errorWords(error)
    return { finding: fail(name, `${path} does not open: ${why}`, advice), lastWrittenMs: null }
  }
}

/** Which of the nodes of its cluster works in this data directory; nothing before its first start. */
export async function checkNode(dataDir: string): Promise<Finding[]> {
  const name = 'node'
  const path = join(dataDir, localJournalFileName)
  if (!existsSync(path)) return []
  try {
    const still = openReadOnly(path)
    try {
      const ask = { sql: `select value from facts where name = 'node'`, parameters: [] }
      const known = await still.db.first<{ value: string }>(ask)
      return known === undefined ? [] : [ok(name, `${known.value} in sluice node list`)]
    } finally {
      still.close()
    }
  } catch (error) {
    const advice = 'Keep the file as it is: it may hold settlements that the database has not got.'
    return [fail(name, `${path} does not open: ${errorWords(error)}`, advice)]
  }
}

function routesOf(model: Fields): Fields[] {
  return Array.isArray(model['routes']) ? model['routes'].map(fieldsOf) : []
}

function upstreamIdsOf(model: Fields): unknown[] {
  return routesOf(model).map((route) => route['upstream'])
}

function checkModels(models: readonly Fields[], upstreams: readonly Fields[]): Finding[] {
  const name = 'models'
  if (models.length === 0) return [warn(name, 'there is none', 'Add some: sluice seed, or sluice model add.')]
  const enabled = new Set(upstreams.filter((each) => each['enabled'] === true).map((each) => each['id']))
  const idsOf = (which: (model: Fields) => boolean): string =>
    models
      .filter(which)
      .map((model) => String(model['id']))
      .join(', ')
  const unpriced = idsOf((model) => fieldAt(model, 'prices') === undefined)
  const unrouted = idsOf((model) => upstreamIdsOf(model).length === 0)
  const unserved = idsOf((model) => {
    const ids = upstreamIdsOf(model)
    return ids.length > 0 && !ids.some((id) => enabled.has(id))
  })
  const findings: Finding[] = []
  if (unpriced !== '') findings.push(warn(name, `without a price: ${unpriced}`, 'sluice model price <id> …'))
  if (unrouted !== '') {
    findings.push(
      warn(name, `without a route: ${unrouted}`, 'sluice model set <id> --route <upstream>=<model>'),
    )
  }
  if (unserved !== '') {
    findings.push(warn(name, `only on disabled upstreams: ${unserved}`, 'sluice upstream enable <upstream>'))
  }
  return findings.length > 0 ? findings : [ok(name, `${models.length}, each with a price and a route`)]
}

async function checkUpstream(control: Control, upstream: Fields, looks: Looks): Promise<Finding> {
  const label = String(upstream['name'])
  const name = `upstream ${label}`
  if (upstream['enabled'] !== true) return ok(name, 'disabled, not looked at')
  if (upstream['provider'] === 'demo') return ok(name, 'the demonstration, part of the relay')
  const url = String(upstream['base_url'])
  if (!looks.calls) {
    const proxy = typeof upstream['proxy'] === 'string' ? proxyOf(upstream['proxy']) : null
    const first = proxy === null ? url : `${proxy.tls ? 'https' : 'http'}://${proxy.authority}`
    const { ok: isReached, message, durationMs } = await reach(first, looks.allow, connectMaxMs)
    const detail = `${proxy === null ? url : `its proxy ${proxy.authority}`}: ${message}, ${durationMs} ms`
    return isReached
      ? ok(name, detail)
      : fail(name, detail, 'Check its address, the network, and UPSTREAM_ALLOW.')
  }
  const alone = `Try it alone: sluice upstream test ${label} --model <its name of a model>`
  try {
    const { isAnswered, message } = await tryOne(control, upstream['id'], looks.routes)
    const detail = `${url}: ${message}`
    return isAnswered ? ok(name, detail) : fail(name, detail, alone)
  } catch (error) {
    // Not even asked, such as one that tells no models and that no route leads to: the others are still looked at.
    if (!(error instanceof CommandError)) throw error
    return warn(name, `${url}: ${error.message}`, alone)
  }
}

/** The cheap call, for the model of a route to it, also of one that is not listed; else whatever the relay finds. */
async function tryOne(
  control: Control,
  id: unknown,
  routes: readonly Fields[],
): Promise<{ isAnswered: boolean; message: string }> {
  const model = routes.find((route) => route['upstream'] === id)?.['model']
  const path = `/upstreams/${encodeURIComponent(String(id))}/test`
  const trial = fieldsOf(await control.call('POST', path, given({ model }) ?? {}))
  return { isAnswered: trial['ok'] === true, message: String(trial['message']) }
}

interface Looks {
  /** Of all models. */
  readonly routes: readonly Fields[]
  /** Whether upstreams are really called, or only connected to. */
  readonly calls: boolean
  readonly allow: ReturnType<typeof parseCidrs>
}

/** Models and upstreams, as the administration tells them. */
export async function checkService(config: Config, calls: boolean): Promise<Finding[]> {
  try {
    const control = await openControl(config, { command: 'doctor' })
    try {
      const [models, upstreams] = await Promise.all([
        listAll(control, '/models'),
        listAll(control, '/upstreams'),
      ])
      const routes = models.flatMap(routesOf)
      const looks = { calls, routes, allow: parseCidrs(config.upstreamAllow.join(',')) }
      const trials = upstreams.map((upstream) => checkUpstream(control, upstream, looks))
      return [...checkModels(models, upstreams), ...(await Promise.all(trials))]
    } finally {
      await control.close()
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const advice =
      error instanceof CommandError ? 'See the log of the relay.' : 'Start the relay and see what it says.'
    return [fail('service', error.message, advice)]
  }
}
