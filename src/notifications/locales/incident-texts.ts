/**
 * The texts of notifications about incidents, availability and public addresses; see notification-texts.ts.
 */

/** A title and a text in both languages. */
export function bilingual(title: string, text: string, chineseTitle: string, chineseText: string) {
  return { en: { title, text }, 'zh-CN': { title: chineseTitle, text: chineseText } }
}

/** An operator's post about an incident: its current state and the operator's own text. */
function incidentUpdate(english: string, chinese: string) {
  return bilingual(`${english}: {title}`, '{message}', `${chinese}：{title}`, '{message}')
}

function burnRateAlert(english: string, chinese: string) {
  return bilingual(
    'Too many requests to {model} are failing',
    `Over the last ${english}, requests failed {burn} times faster than the objective of {objective}% allows.`,
    '模型 {model} 的失败请求过多',
    `过去 ${chinese}内，失败速率达到可用性目标（{objective}%）允许值的 {burn} 倍。`,
  )
}

export const incidentTexts = {
  model_failing: bilingual(
    'Requests to {model} are failing',
    'Since {since:time}, requests have been failing more often than the model’s objective allows. You will be notified when this is resolved.',
    '模型 {model} 请求异常',
    '自 {since:time} 起，失败率超出该模型可用性目标允许的范围。恢复后将另行通知。',
  ),
  model_well: bilingual(
    '{model} has recovered',
    'Requests succeed again. The incident lasted from {since:time} to {until:time}.',
    '模型 {model} 已恢复',
    '请求已恢复正常。故障时间为 {since:time} 至 {until:time}。',
  ),
  model_quiet: bilingual(
    'No more failing requests to {model}',
    'There have been no requests for a while, so the incident of {since:time} was closed.',
    '模型 {model} 未再出现失败请求',
    '该模型已有一段时间没有请求，{since:time} 开始的故障已关闭。',
  ),
  relay_failing: bilingual(
    'The relay is rejecting requests',
    'Since {since:time}, requests to all models have been rejected. You will be notified when this is resolved.',
    'API 服务异常',
    '自 {since:time} 起，平台无法受理请求，所有模型均受影响。恢复后将另行通知。',
  ),
  relay_well: bilingual(
    'The relay is accepting requests again',
    'Requests are admitted again. The incident lasted from {since:time} to {until:time}.',
    'API 服务已恢复',
    '平台已恢复受理请求。故障时间为 {since:time} 至 {until:time}。',
  ),
  incident_investigating: incidentUpdate('Investigating', '调查中'),
  incident_identified: incidentUpdate('Cause identified', '已定位原因'),
  incident_monitoring: incidentUpdate('Monitoring', '观察中'),
  incident_resolved: incidentUpdate('Resolved', '已恢复'),
  fast_burn: burnRateAlert('hour', '1 小时'),
  slow_burn: burnRateAlert('six hours', '6 小时'),
  address_down: bilingual(
    'A public address is unreachable',
    'The relay could not reach {url}: {problem}.',
    '公网地址无法访问',
    '平台无法访问 {url}：{problem}。',
  ),
  address_up: bilingual(
    'A public address is reachable again',
    'The relay can reach {url} again.',
    '公网地址已恢复',
    '{url} 已恢复访问。',
  ),
}
