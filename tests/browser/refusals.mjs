// Calls that cannot be answered, as rows: a call, and parts of what is said of it.
import assert from "node:assert/strict";

/**
 * Gives a page that is loaded from now on `messageOf`, what is said of a call, and `messagesOf`, what is said of each call of
 * some rows, one after the other.
 */
export function listensToRefusals(page) {
  return page.addInitScript(() => {
    window.messageOf = (promise) => promise.then(() => "", (error) => error.message);
    window.messagesOf = async (rows) => {
      const messages = [];
      for (const [call, ...parts] of rows) messages.push({ call: `${call}`, message: await messageOf(call()), parts });
      return messages;
    };
  });
}

/** Asserts that every call was refused in the words of its row. */
export function areRefused(messages) {
  for (const { call, message, parts } of messages) {
    assert.ok(parts.length > 0, `${call} has no words`);
    for (const part of parts) assert.ok(message.includes(part), `${call} says "${message}", without "${part}"`);
  }
}
