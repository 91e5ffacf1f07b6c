// The words of the console in English and Korean, and the format of numbers and times.

import { english } from './words-en.js';
import { korean } from './words-ko.js';

export const languages = { en: english, ko: korean };

const languagePlace = 'leasehold.language';
const wanted = localStorage.getItem(languagePlace) ?? navigator.language.slice(0, 2);
let language = Object.hasOwn(languages, wanted) ? wanted : 'en';

export const currentLanguage = () => language;
export function setLanguage(name) {
  language = name;
  localStorage.setItem(languagePlace, name);
}

// t('rows', {from: 1, to: 9})
export function t(name, values = {}) {
  const text = languages[language][name] ?? english[name] ?? name;
  return text.replace(/\{(\w+)\}/g, (whole, field) => (field in values ? String(values[field]) : whole));
}

export const number = (value) => new Intl.NumberFormat(language).format(value);

const units = {
  en: { d: ' d', h: ' h', m: ' min', s: ' s', ms: ' ms' },
  ko: { d: '일', h: '시간', m: '분', s: '초', ms: 'ms' },
};

// unit('15m') is "15 min".
export const unit = (text) => text.replace(/[a-z]+$/, (name) => units[language][name]);

// The two largest units: "4 min 12 s".
export function duration(ms) {
  const name = units[language];
  if (ms === Infinity) return t('untilReleased');
  if (ms < 0) ms = 0;
  if (ms < 1000) return `${Math.round(ms)}${name.ms}`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s}${name.s}`;
  if (s < 3600) return `${Math.floor(s / 60)}${name.m} ${s % 60}${name.s}`;
  if (s < 86400) return `${Math.floor(s / 3600)}${name.h} ${Math.floor((s % 3600) / 60)}${name.m}`;
  return `${Math.floor(s / 86400)}${name.d} ${Math.floor((s % 86400) / 3600)}${name.h}`;
}

// For a countdown: the width does not change from second to second.
export function countdown(ms) {
  if (ms === Infinity) return t('untilReleased');
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, '0');
  if (s >= 86400) return duration(s * 1000);
  const clock = `${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`;
  return s >= 3600 ? `${Math.floor(s / 3600)}:${clock}` : clock;
}

const sameDay = (a, b) => a.toDateString() === b.toDateString();

// "09:20:31", with the date if it is not today.
export function moment(text) {
  const date = new Date(text);
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false };
  const day = sameDay(date, new Date()) ? {} : { month: 'short', day: 'numeric' };
  return new Intl.DateTimeFormat(language, { ...day, ...time }).format(date);
}

export const hourMinute = (ms) =>
  new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit', hour12: false }).format(ms);
export const hourMinuteSecond = (ms) =>
  new Intl.DateTimeFormat(language, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hour12: false,
  }).format(ms);

export const ownerName = (owner) => owner || t('anonymous');
export const keyName = ({ type, id }) => `${type}/${id}`;
