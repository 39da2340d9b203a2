// A completion of a server written again, away from it. Leans on completions.h and receipt.h.
#pragma once

#include "limpid/compile/thread_pool.h"
#include "limpid/core/json.h"
#include "limpid/formats/model.h"
#include "limpid/serve/receipt.h"

namespace limpid::serve {

struct Rewritten {
  Json answer;  // its body
  Receipt receipt;
};

// Whether a body asks for a completion, or for the next message of a chat, not for an inference.
bool asks_for_text(const Json& request);

// What a server with default limits answers to the body, a stream as a whole. The body names the
// seed. Throws kFormat for what is no such request, kInvalidArgument for a model that writes no
// text.
Rewritten write_again(const Model& model, Json request, ThreadPool* pool = nullptr);

// Compares with the body of an answer. Throws kInvalidArgument, naming the first difference;
// kFormat for what is no such answer.
void check_text(const Rewritten& again, const Json& answer);

}  // namespace limpid::serve
