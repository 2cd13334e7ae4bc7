/** Reads information about a Redis or Valkey server for the `doctor` command. */
import { Redis } from 'ioredis'
import { errorMessage } from '../lib/error-message.ts'

const redisTimeoutMs = 3000

export interface RedisInfo {
  readonly release: string
  /** `master`, or a replica, which does not accept writes. */
  readonly role: string
  /** Whether it evicts keys when its memory is full. */
  readonly evicts: boolean
}

/** Returns the information, or the problem, which contains no secrets. */
export async function readRedisInfo(url: string): Promise<RedisInfo | { readonly problem: string }> {
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: redisTimeoutMs,
    commandTimeout: redisTimeoutMs,
  })
  let problem = ''
  redis.on('error', (error: Error) => (problem = error.message))
  try {
    await redis.connect()
    const text = await redis.info()
    const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1]
    return {
      release: field('valkey_version') ?? field('redis_version') ?? '(unknown version)',
      role: field('role') ?? 'master',
      evicts: Number(field('maxmemory') ?? 0) > 0 && field('maxmemory_policy') !== 'noeviction',
    }
  } catch (error) {
    return { problem: problem || errorMessage(error) }
  } finally {
    redis.disconnect()
  }
}
