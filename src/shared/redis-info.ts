/** One question to a Redis or Valkey, for the doctor: what it is, or why it cannot be had. */
import { Redis } from 'ioredis'
import { errorWords } from '../lib/error-message.ts'

const patienceMs = 3000

export interface RedisAbout {
  readonly release: string
  /** `master`, or a replica, which takes no writes. */
  readonly role: string
  /** It drops keys when its memory is full. */
  readonly evicts: boolean
}

/** `problem` holds no secrets. */
export async function askRedis(url: string): Promise<RedisAbout | { readonly problem: string }> {
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: patienceMs,
    commandTimeout: patienceMs,
  })
  let problem = ''
  redis.on('error', (error: Error) => (problem = error.message))
  try {
    await redis.connect()
    const text = await redis.info()
    const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1]
    return {
      release: field('valkey_version') ?? field('redis_version') ?? 'of an unknown release',
      role: field('role') ?? 'master',
      evicts: Number(field('maxmemory') ?? 0) > 0 && field('maxmemory_policy') !== 'noeviction',
    }
  } catch (error) {
    return { problem: problem || errorWords(error) }
  } finally {
    redis.disconnect()
  }
}
