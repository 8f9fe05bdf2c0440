// Requests to the server: queries and changes.

export class Refusal extends Error {
  constructor(status, answer) {
    super(answer.error ?? "the console answers with status " + status);
    this.status = status;
    this.detail = answer.detail;
    this.hint = answer.hint;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Refusal(0, { error: "the console does not answer" });
  }
  let answer;
  try {
    answer = await response.json();
  } catch {
    answer = {};
  }
  if (!response.ok) throw new Refusal(response.status, answer);
  return answer;
}

export const path = (look, parameters = {}) => {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given).toString();
  return "api/" + look + (query ? "?" + query : "");
};

export const get = (look, parameters) => ask(path(look, parameters));

export const session = {};
export async function begin() {
  Object.assign(session, await get("session"));
}

// Whether the role may ask for it; unknown before the session has begun.
export const sees = (look) => !session.powers || session.powers.sees.includes(look);

export const change = (name, body) =>
  ask("api/do/" + name, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Scylla-Token": session.token },
    body: JSON.stringify(body),
  });
