// @ts-check
/** What a page says once nobody is signed in any more, or somebody else. Loaded on need. */
import { call, Problem } from "./api.js";
import { byId, format, gettext } from "./page.js";

/**
 * @param {string} login  URL of the page to sign in  @param {(url: string) => unknown} [go]
 * @returns {Promise<import("./page.js").Notice>}
 */
export async function signedOutNotice(login, go = (url) => location.assign(url)) {
  const other = await otherPersonNotice(login, go);
  if (other) return other;
  return {
    tone: "warn",
    text: gettext("You are signed out."),
    remedy: gettext("Sign in again, here or in another tab; your unsent work is then sent."),
    actions: [{ label: gettext("Sign in"), run: () => go(pathBack(login)) }],
  };
}

/**
 * What to say if another person than the page is for is signed in now; null if nobody is, or the same one.
 *
 * @param {string} [login]  @param {(url: string) => unknown} [go]
 * @returns {Promise<import("./page.js").Notice | null>}
 */
export async function otherPersonNotice(login = loginPath(), go = (url) => location.assign(url)) {
  const other = await otherPerson();
  if (!other) return null;
  const { logout, name } = byId("outbox").dataset;
  return {
    tone: "warn",
    text: format(gettext("You are signed in as {name} now."), { name: other }),
    remedy: format(gettext("Sign in as {name} to send what waits."), { name }),
    // Signing in past a session leads to this page at once, which is not for the other person.
    actions: [
      {
        label: format(gettext("Sign in as {name}"), { name }),
        run: () => go(`${logout}?next=${encodeURIComponent(pathBack(login))}`),
      },
    ],
  };
}

/** The page to sign in, without the way back that every page adds. */
function loginPath() {
  return (byId("outbox").dataset.login ?? "").split("?")[0];
}

/** @param {string} login */
function pathBack(login) {
  return `${login}?next=${encodeURIComponent(location.pathname)}`;
}

/** The name of the person who is signed in now, if it is another one than the page is for. */
async function otherPerson() {
  try {
    await call("GET", "/me/");
  } catch (error) {
    if (error instanceof Problem && error.code === "other_person") return String(error.body.name);
  }
  return "";
}
