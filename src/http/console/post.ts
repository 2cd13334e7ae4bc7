/** Letters go out beside the answer: how long a mail server takes tells nobody whether an address is known. */
import type { Letter } from '../../lib/email.ts'
import type { ConsoleDesk } from './visit.ts'

export function post({ mailer, onBug }: ConsoleDesk, letter: Letter): void {
  mailer?.send(letter).catch((error: unknown) => onBug(error, 'mail'))
}
