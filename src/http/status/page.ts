/** The status page: one document without scripts, for light and dark mode, phones and screen readers. */
import type { Incident } from '../../health/incidents.ts'
import type { Language } from '../../notifications/locales/notification-texts.ts'
import {
  percentOf,
  type PublicStatus,
  type State,
  type StatusAddress,
  type StatusComponent,
} from './state.ts'
import { statusStyle } from './style.ts'
import { statusMessages, postText, incidentTitle, type StatusMessages } from './locales.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML and XML; removes characters that XML does not allow. */
export function escapeMarkup(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are the characters that XML 1.0 forbids
  const allowed = text.replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, '')
  return allowed.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}

/** A state is never shown by colour alone: it has a symbol and a text. */
const symbols: Readonly<Record<State, string>> = { up: '✓', degraded: '!', down: '✕' }

function levelOf(success: number | null, objective: number): string {
  if (success === null) return 'none'
  if (success >= objective) return 'good'
  if (success >= 0.99) return 'fair'
  return success >= 0.95 ? 'poor' : 'bad'
}

function percentText(success: number | null, messages: StatusMessages): string {
  return success === null ? messages.noData : `${percentOf(success)} %`
}

function timeText(ms: number): string {
  const iso = new Date(ms).toISOString()
  return `<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`
}

function badge(state: State, text: string): string {
  return `<span class="badge ${state}"><span aria-hidden="true">${symbols[state]}</span> ${escapeMarkup(text)}</span>`
}

function componentRow(
  name: string,
  { state, success, objective, days }: StatusComponent,
  messages: StatusMessages,
): string {
  const bars = days.map(
    (day) =>
      `<i class="${levelOf(day.success, objective)}" title="${day.date}: ${escapeMarkup(percentText(day.success, messages))}"></i>`,
  )
  const share = percentText(success, messages)
  return `<li class="model"><div class="line"><h3>${escapeMarkup(name)}</h3>${badge(state, messages.states[state])}</div>
<div class="days" role="img" aria-label="${escapeMarkup(messages.days(share))}">${bars.join('')}</div>
<div class="line small"><span>${escapeMarkup(messages.daysAgo)}</span><strong>${escapeMarkup(share)}</strong><span>${escapeMarkup(messages.today)}</span></div></li>`
}

function incidentBlock(incident: Incident, messages: StatusMessages): string {
  const { models, openedAt, closedAt, severity, status, posts } = incident
  const affected = models.length === 0 ? messages.wholeService : models.join(', ')
  const period = `${timeText(openedAt)}${closedAt === null ? '' : ` – ${timeText(closedAt)}`}`
  const updates = posts.map(
    (post) =>
      `<li><strong>${escapeMarkup(messages.status[post.status])}</strong> ${timeText(post.at)}<p>${escapeMarkup(postText(incident, post, messages))}</p></li>`,
  )
  return `<article class="incident ${severity}"><h3>${escapeMarkup(incidentTitle(incident, messages))}</h3>
<p class="small">${escapeMarkup(messages.status[status])} · ${escapeMarkup(messages.severity[severity])} · ${escapeMarkup(affected)} · ${period}</p>
<ul>${updates.join('')}</ul></article>`
}

function addressRow({ url, isHealthy }: StatusAddress, messages: StatusMessages): string {
  const state =
    isHealthy === null ? '' : badge(isHealthy ? 'up' : 'down', isHealthy ? messages.up : messages.down)
  return `<li class="line"><code>${escapeMarkup(url)}</code>${state}</li>`
}

function section(title: string, content: string): string {
  return `<section><h2>${escapeMarkup(title)}</h2>${content}</section>`
}

export function renderStatusPage(status: PublicStatus, language: Language): string {
  const messages = statusMessages[language]
  const other: Language = language === 'en' ? 'zh-CN' : 'en'
  const open = status.incidents.filter(({ closedAt }) => closedAt === null)
  const past = status.incidents.filter(({ closedAt }) => closedAt !== null)
  const blocks = (incidents: readonly Incident[]): string =>
    incidents.map((incident) => incidentBlock(incident, messages)).join('\n')
  const models = status.models.map((model) => componentRow(model.id, model, messages)).join('\n')
  const addresses = status.addresses.map((address) => addressRow(address, messages)).join('')
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${escapeMarkup(messages.overall[status.state])} – ${escapeMarkup(messages.title)}</title>
<link rel="alternate" type="application/rss+xml" href="/status.rss?lang=${language}" title="${escapeMarkup(messages.title)}">
<style>${statusStyle}</style></head>
<body><header><h1>${escapeMarkup(messages.title)}</h1><nav><a href="/status?lang=${other}" hreflang="${other}" lang="${other}">${escapeMarkup(messages.otherLanguage)}</a> <a href="/status.rss?lang=${language}">RSS</a> <a href="/status.json?lang=${language}">JSON</a></nav></header>
<main><p class="overall ${status.state}"><span aria-hidden="true">${symbols[status.state]}</span> ${escapeMarkup(messages.overall[status.state])}</p>
${open.length > 0 ? section(messages.open, blocks(open)) : ''}
${section(messages.components, `<ul class="models">${componentRow(messages.relayApi, status.relay, messages)}</ul>`)}
${section(messages.models, status.models.length > 0 ? `<ul class="models">${models}</ul><p class="small">${escapeMarkup(messages.explanation)}</p>` : `<p>${escapeMarkup(messages.noModels)}</p>`)}
${section(messages.addresses, `<ul>${addresses}</ul>`)}
${section(messages.past, past.length > 0 ? blocks(past) : `<p>${escapeMarkup(messages.noPast)}</p>`)}
</main><footer class="small">${escapeMarkup(messages.updated)} ${timeText(status.at)}</footer></body></html>
`
}
