/**
 * The texts of notifications about incidents, availability and public addresses; see notification-texts.ts.
 */

/** An operator's post about an incident: its current state and the operator's own text. */
function incidentUpdate(english: string, chinese: string) {
  return {
    en: { title: `${english}: {title}`, text: '{message}' },
    'zh-CN': { title: `${chinese}：{title}`, text: '{message}' },
  }
}

function burnRateAlert(english: string, chinese: string) {
  return {
    en: {
      title: 'Too many requests to {model} are failing',
      text: `Over the last ${english}, requests failed {burn} times faster than the objective of {objective}% allows.`,
    },
    'zh-CN': {
      title: '模型 {model} 的失败请求过多',
      text: `过去 ${chinese}内，失败速率达到可用性目标（{objective}%）允许值的 {burn} 倍。`,
    },
  }
}

export const incidentTexts = {
  model_failing: {
    en: {
      title: 'Requests to {model} are failing',
      text: 'Since {since:time}, requests have been failing more often than the model’s objective allows. You will be notified when this is resolved.',
    },
    'zh-CN': {
      title: '模型 {model} 请求异常',
      text: '自 {since:time} 起，失败率超出该模型可用性目标允许的范围。恢复后将另行通知。',
    },
  },
  model_well: {
    en: {
      title: '{model} has recovered',
      text: 'Requests succeed again. The incident lasted from {since:time} to {until:time}.',
    },
    'zh-CN': {
      title: '模型 {model} 已恢复',
      text: '请求已恢复正常。故障时间为 {since:time} 至 {until:time}。',
    },
  },
  model_quiet: {
    en: {
      title: 'No more failing requests to {model}',
      text: 'There have been no requests for a while, so the incident of {since:time} was closed.',
    },
    'zh-CN': {
      title: '模型 {model} 未再出现失败请求',
      text: '该模型已有一段时间没有请求，{since:time} 开始的故障已关闭。',
    },
  },
  relay_failing: {
    en: {
      title: 'The relay is rejecting requests',
      text: 'Since {since:time}, requests to all models have been rejected. You will be notified when this is resolved.',
    },
    'zh-CN': {
      title: 'API 服务异常',
      text: '自 {since:time} 起，平台无法受理请求，所有模型均受影响。恢复后将另行通知。',
    },
  },
  relay_well: {
    en: {
      title: 'The relay is accepting requests again',
      text: 'Requests are admitted again. The incident lasted from {since:time} to {until:time}.',
    },
    'zh-CN': {
      title: 'API 服务已恢复',
      text: '平台已恢复受理请求。故障时间为 {since:time} 至 {until:time}。',
    },
  },
  incident_investigating: incidentUpdate('Investigating', '调查中'),
  incident_identified: incidentUpdate('Cause identified', '已定位原因'),
  incident_monitoring: incidentUpdate('Monitoring', '观察中'),
  incident_resolved: incidentUpdate('Resolved', '已恢复'),
  fast_burn: burnRateAlert('hour', '1 小时'),
  slow_burn: burnRateAlert('six hours', '6 小时'),
  address_down: {
    en: {
      title: 'A public address is unreachable',
      text: 'The relay could not reach {url}: {problem}.',
    },
    'zh-CN': {
      title: '公网地址无法访问',
      text: '平台无法访问 {url}：{problem}。',
    },
  },
  address_up: {
    en: { title: 'A public address is reachable again', text: 'The relay can reach {url} again.' },
    'zh-CN': { title: '公网地址已恢复', text: '{url} 已恢复访问。' },
  },
}
