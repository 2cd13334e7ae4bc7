/** The status page: one document without scripts, for light and dark mode, phones and screen readers. */
import { html as markup } from 'hono/html'
import type { Branding } from '../../branding/branding.ts'
import type { Incident } from '../../health/incidents.ts'
import type { Language } from '../../notifications/locales/notification-texts.ts'
import {
  percentOf,
  type PublicStatus,
  type State,
  type StatusAddress,
  type StatusComponent,
} from './state.ts'
import { renderPublicPage, type Markup } from '../public-pages/frame.ts'
import { statusStyle } from './style.ts'
import { statusMessages, postText, incidentTitle, type StatusMessages } from './locales.ts'

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

function timeText(ms: number): Markup {
  const iso = new Date(ms).toISOString()
  return markup`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`
}

function badge(state: State, text: string): Markup {
  return markup`<span class="badge ${state}"><span aria-hidden="true">${symbols[state]}</span> ${text}</span>`
}

function componentRow(
  name: string,
  { state, success, objective, days }: StatusComponent,
  messages: StatusMessages,
): Markup {
  const bars = days.map(
    (day) =>
      markup`<i class="${levelOf(day.success, objective)}" title="${day.date}: ${percentText(day.success, messages)}"></i>`,
  )
  const share = percentText(success, messages)
  return markup`<li class="model"><div class="line"><h3>${name}</h3>${badge(state, messages.states[state])}</div>
<div class="days" role="img" aria-label="${messages.days(share)}">${bars}</div>
<div class="line small"><span>${messages.daysAgo}</span><strong>${share}</strong><span>${messages.today}</span></div></li>`
}

function incidentBlock(incident: Incident, messages: StatusMessages): Markup {
  const { models, openedAt, closedAt, severity, status, posts } = incident
  const affected = models.length === 0 ? messages.wholeService : models.join(', ')
  const end = closedAt === null ? '' : markup` – ${timeText(closedAt)}`
  const updates = posts.map(
    (post) =>
      markup`<li><strong>${messages.status[post.status]}</strong> ${timeText(post.at)}<p>${postText(incident, post, messages)}</p></li>`,
  )
  return markup`<article class="incident ${severity}"><h3>${incidentTitle(incident, messages)}</h3>
<p class="small">${messages.status[status]} · ${messages.severity[severity]} · ${affected} · ${timeText(openedAt)}${end}</p>
<ul>${updates}</ul></article>`
}

function addressRow({ url, isHealthy }: StatusAddress, messages: StatusMessages): Markup {
  const state =
    isHealthy === null ? '' : badge(isHealthy ? 'up' : 'down', isHealthy ? messages.up : messages.down)
  return markup`<li class="line"><code>${url}</code>${state}</li>`
}

function section(title: string, content: Markup | readonly Markup[]): Markup {
  return markup`<section><h2>${title}</h2>${content}</section>`
}

export function renderStatusPage(status: PublicStatus, language: Language, branding: Branding): string {
  const messages = statusMessages[language]
  const open = status.incidents.filter(({ closedAt }) => closedAt === null)
  const past = status.incidents.filter(({ closedAt }) => closedAt !== null)
  const blocks = (incidents: readonly Incident[]): Markup[] =>
    incidents.map((incident) => incidentBlock(incident, messages))
  const models = status.models.map((model) => componentRow(model.id, model, messages))
  const addresses = status.addresses.map((address) => addressRow(address, messages))
  return renderPublicPage({
    path: '/status',
    language,
    branding,
    title: `${messages.overall[status.state]} – ${messages.title}`,
    heading: messages.title,
    style: statusStyle,
    head: markup`<link rel="alternate" type="application/rss+xml" href="/status.rss?lang=${language}" title="${messages.title}">`,
    navigation: markup`<a href="/status.rss?lang=${language}">RSS</a> <a href="/status.json?lang=${language}">JSON</a>`,
    main: markup`<p class="overall ${status.state}"><span aria-hidden="true">${symbols[status.state]}</span> ${messages.overall[status.state]}</p>
${open.length > 0 ? section(messages.open, blocks(open)) : ''}
${section(messages.components, markup`<ul class="models">${componentRow(messages.relayApi, status.relay, messages)}</ul>`)}
${section(messages.models, status.models.length > 0 ? markup`<ul class="models">${models}</ul><p class="small">${messages.explanation}</p>` : markup`<p>${messages.noModels}</p>`)}
${section(messages.addresses, markup`<ul>${addresses}</ul>`)}
${section(messages.past, past.length > 0 ? blocks(past) : markup`<p>${messages.noPast}</p>`)}`,
    footer: markup`${messages.updated} ${timeText(status.at)}`,
  })
}
