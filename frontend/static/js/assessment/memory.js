// @ts-check
/** What a participant has typed and not sent yet, kept in this browser through a reload or a lost network. */

/**
 * @typedef {{ typing_ms: number, pasted: number, left_page: number }} Writing
 * @typedef {{ id: string, session: number, text: string, writing: Writing }} Unsent
 */

export class Memory {
  /** @param {string} name  of the conversation; a replacement of it has the same */
  constructor(name) {
    this.name = name;
  }

  /** @template T  @param {string} kind  @param {T} fallback  @returns {T} */
  read(kind, fallback) {
    try {
      return JSON.parse(localStorage.getItem(`lapidary.study.${this.name}.${kind}`) ?? "null") ?? fallback;
    } catch {
      return fallback;
    }
  }

  /** @param {string} kind  @param {unknown} value  null forgets it */
  write(kind, value) {
    const key = `lapidary.study.${this.name}.${kind}`;
    try {
      if (value === null || value === "") localStorage.removeItem(key);
      else localStorage.setItem(key, JSON.stringify(value));
    } catch {
      // Full or forbidden: what is typed stays on the page only.
    }
  }
}
