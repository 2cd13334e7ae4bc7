/**
 * Other gateways as subjects, configured as little as the baseline relay: one model, one upstream, no database. They are
 * installed outside the repository, in a folder that the option `--peers` names:
 *
 *   mkdir -p <folder>/portkey
 *   echo '{"dependencies":{"@portkey-ai/gateway":"1.15.2"},"overrides":{"@hono/node-server":"1.3.3"}}' > <folder>/portkey/package.json
 *   npm install --prefix <folder>/portkey --ignore-scripts
 *   python3 -m venv <folder>/litellm && <folder>/litellm/bin/pip install 'litellm[proxy]==1.106.12'
 *
 * With a newer @hono/node-server, this Portkey answers every stream with status 500.
 */

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { freePort } from '../test/support/upstream/unreachable-addresses.ts'
import { clientModel, upstreamModel } from './payloads.ts'
import { end, waitUntilListening } from './subjects.ts'
import type { BenchEnvironment, Subject } from './subjects.ts'

export const peerVersions = { portkey: '1.15.2', litellm: '1.106.12' } as const

/** Python imports for a long time. */
const startTimeoutMs = 120_000
const key = 'sk-bench-0123456789abcdef0123456789abcdef'

/** Starts the peers that are installed in a folder, and prints which are not. */
export async function startPeers(folder: string, environment: BenchEnvironment): Promise<Subject[]> {
  const subjects: Subject[] = []
  const gateway = join(folder, 'portkey/node_modules/@portkey-ai/gateway/build/start-server.js')
  const proxy = join(folder, 'litellm/bin/litellm')
  if (existsSync(gateway)) subjects.push(await startPortkey(gateway, environment))
  else console.log(`Portkey is not installed in ${folder}: skipped`)
  if (existsSync(proxy)) subjects.push(await startLiteLlm(proxy, environment))
  else console.log(`LiteLLM is not installed in ${folder}: skipped`)
  return subjects
}

async function startPortkey(program: string, { upstreamPort }: BenchEnvironment): Promise<Subject> {
  const port = await freePort()
  const command = [process.execPath, program, `--port=${port}`, '--headless']
  const headers = ['x-portkey-provider: openai', `x-portkey-custom-host: http://127.0.0.1:${upstreamPort}/v1`]
  const title = `Portkey ${peerVersions.portkey}`
  return { ...(await startPeer(command, port)), name: 'portkey', title, headers }
}

async function startLiteLlm(
  program: string,
  { upstreamPort, workers, directory }: BenchEnvironment,
): Promise<Subject> {
  const port = await freePort()
  mkdirSync(join(directory, 'litellm'))
  const config = join(directory, 'litellm', 'config.json')
  const upstream = { api_base: `http://127.0.0.1:${upstreamPort}/v1`, api_key: 'sk-upstream' }
  // YAML is a superset of JSON.
  const settings = {
    model_list: [
      { model_name: clientModel, litellm_params: { model: `openai/${upstreamModel}`, ...upstream } },
    ],
    general_settings: { master_key: key },
  }
  writeFileSync(config, JSON.stringify(settings))
  const address = ['--host', '127.0.0.1', '--port', String(port), '--num_workers', String(workers)]
  const peer = await startPeer([program, '--config', config, '--telemetry', 'False', ...address], port)
  return { ...peer, name: 'litellm', title: `LiteLLM ${peerVersions.litellm}` }
}

async function startPeer(command: readonly string[], port: number): Promise<Omit<Subject, 'name' | 'title'>> {
  const { PATH, HOME } = process.env
  // Without network: the list of prices that LiteLLM otherwise downloads at its start.
  const env = { PATH, HOME, NODE_ENV: 'production', LITELLM_LOCAL_MODEL_COST_MAP: 'True' }
  const child = spawn(command[0] ?? '', command.slice(1), { env, stdio: 'ignore' })
  process.once('exit', () => child.kill())
  await waitUntilListening(port, child, startTimeoutMs)
  return { port, key, pid: child.pid ?? 0, isPassthrough: false, stop: () => end(child) }
}
