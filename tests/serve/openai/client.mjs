// OpenAI's client against a server of Limpid: what client_test.py asks for, as JSON on standard output.
//
// usage: client.mjs URL MODEL PROMPT MAX_TOKENS SEED, with node_modules beside this file
import OpenAI from "openai";

const [url, model, prompt, tokens, seed] = process.argv.slice(2);
const client = new OpenAI({baseURL: `${url}/v1`, apiKey: "correct-horse", maxRetries: 0});
const asked = {model, prompt, max_tokens: Number(tokens), seed: Number(seed)};
const found = {};

found.models = (await client.models.list()).data.map((one) => one.id);
found.model = (await client.models.retrieve(model)).id;
found.whole = await client.completions.create({...asked, logprobs: 1});

found.streamed = "";
found.reasons = [];
for await (const chunk of await client.completions.create({...asked, stream: true, stream_options: {include_usage: true}})) {
  for (const choice of chunk.choices) {
    found.streamed += choice.text;
    if (choice.finish_reason) found.reasons.push(choice.finish_reason);
  }
  if (chunk.usage) found.usage = chunk.usage;
}

// A client that stops reading.
const left = await client.completions.create({...asked, stream: true});
for await (const chunk of left) {
  found.first = chunk.object;
  break;
}

async function refused(request) {
  try {
    await request;
    return "answered";
  } catch (error) {
    return [error.constructor.name, error.status, error.message];
  }
}
found.unknown = await refused(client.completions.create({...asked, model: "none"}));
found.wrong = await refused(client.completions.create({...asked, temperature: -1}));
found.chat = await refused(client.chat.completions.create({model, messages: [{role: "user", content: "hello"}]}));

const chat = {model: "chat", messages: [{role: "user", content: "the cat"}], max_tokens: 12, seed: Number(seed)};
found.chatWhole = await client.chat.completions.create({...chat, logprobs: true, top_logprobs: 2});
found.chatStreamed = "";
found.chatReasons = [];
for await (const chunk of await client.chat.completions.create({...chat, stream: true})) {
  for (const choice of chunk.choices) {
    found.chatStreamed += choice.delta.content ?? "";
    if (choice.finish_reason) found.chatReasons.push(choice.finish_reason);
  }
}
const stranger = new OpenAI({baseURL: `${url}/v1`, apiKey: "another-horse", maxRetries: 0});
found.stranger = await refused(stranger.models.list());
console.log(JSON.stringify(found));
