/** The keys of the scripted Alipay and of the app that uses it, made once per process. */
import { generateKeyPairSync } from 'node:crypto'

export const appKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })
export const alipayKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })
