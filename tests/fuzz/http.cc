// The bytes of a connection: requests, and how the Open Inference Protocol and OpenAI's read their
// bodies.
#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/data/text/tokenizer.h"
#include "limpid/serve/completions.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/http_parser.h"
#include "limpid/serve/infer_v2.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

using serve::RequestReader;

const serve::Signature& model() {
  static const serve::Signature signature{
      .name = "m",
      .inputs = {{"x", {Dtype::kF32, {2}}}, {"i", {Dtype::kI64, {}}}, {"b", {Dtype::kBool, {1}}}},
      .outputs = {{"x", {Dtype::kF32, {2}}}, {"b", {Dtype::kBool, {1}}}}};
  return signature;
}

// Reads a body by OpenAI's protocol.
void complete(const serve::Request& request) {
  const serve::Limits limits{.tokens = 50, .texts = 10};
  const serve::LanguageService language{
      .tokenizer = Tokenizer::bytes(), .context = 20, .lane = nullptr};
  try {
    const Json body = Json::parse(request.body, {.bytes = limits.body});
    (void)serve::model_of_completion(body);
    const serve::CompletionRequest asked = serve::parse_completion(body, language, limits);
    require(!asked.prompts.empty() && asked.prompts.size() * asked.n <= 10, "texts are bounded");
    for (const serve::CompletionRequest::Prompt& prompt : asked.prompts)
      require(!prompt.tokens.empty() && prompt.tokens.size() + asked.tokens <= 20,
              "a text fits in the context");
    require(asked.sampling.top_p > 0 && asked.sampling.temperature >= 0, "sampling is possible");
  } catch (const Error&) {
    throw serve::to_http_error(std::current_exception());
  }
}

// Answers like a server whose model is an echo.
void answer(const serve::Request& request) {
  if (request.target.starts_with("/v1/")) return complete(request);
  const serve::Limits limits{.answer = 1 << 20, .rows = 1000};
  const serve::InferRequest infer =
      serve::parse_infer(model(), request.body, serve::json_bytes_of(request), limits);
  require(infer.inputs.size() == 3, "all inputs are there");
  for (const Tensor& input : infer.inputs) {
    touch(input);
    require(input.shape()[0] == infer.rows, "every input has all rows");
  }
  const std::vector<Tensor> outputs{infer.inputs[0], infer.inputs[2]};
  const serve::Response response = serve::infer_response(model(), infer, outputs, 0);
  std::optional<std::size_t> json;
  for (const serve::Header& h : response.headers)
    if (h.name == "Inference-Header-Content-Length") json = std::stoul(h.value);
  const auto back = serve::parse_outputs(model(), response.body, json);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    require(!back[i] || back[i]->type() == outputs[i].type(),
            "an answer is read as it was written");
}

// The requests of a connection whose bytes arrive in pieces, up to the first refused one.
std::vector<serve::Request> requests_of(std::string_view bytes, std::size_t piece, bool& refused) {
  const serve::Limits limits{.url = 200, .header = 1000, .body = 4000};
  RequestReader reader(limits);
  std::vector<serve::Request> requests;
  bool in_body = false;
  try {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(bytes.substr(at, piece));
      for (;;) {
        const RequestReader::State state = reader.advance();
        if (state == RequestReader::State::kDone) requests.push_back(reader.take());
        const bool header_ended = state == RequestReader::State::kBody && !in_body;
        in_body = state == RequestReader::State::kBody;
        if (state != RequestReader::State::kDone && !header_ended) break;
      }
      require(reader.body_bytes() <= limits.body, "a body is within its limit");
    }
  } catch (const serve::HttpError& error) {
    require(error.status() >= 400 && error.status() < 600, "a refusal has its status");
    refused = true;
  }
  return requests;
}

void read(std::span<const std::byte> bytes) {
  bool refused = false;
  const std::vector<serve::Request> whole = requests_of(text_of(bytes), bytes.size() + 1, refused);
  const std::vector<serve::Request> pieces = requests_of(text_of(bytes), 7, refused);
  // An endless line is refused as soon as enough of it has arrived.
  for (std::size_t i = 0; i < std::min(whole.size(), pieces.size()); ++i) {
    require(whole[i].body == pieces[i].body && whole[i].headers == pieces[i].headers,
            "pieces give the same requests");
    try {
      answer(whole[i]);
    } catch (const serve::HttpError& error) {
      require(error.status() >= 400 && error.status() < 500, "a refusal has its status");
      refused = true;
    }
  }
  if (refused) throw Error(ErrorCode::kFormat, "a request is refused");
}

std::vector<Bytes> seeds() {
  const std::string json =
      R"({"id":"a","inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1.5,"NaN"]},)"
      R"({"name":"i","datatype":"INT64","shape":[1],"data":[-7]},)"
      R"({"name":"b","datatype":"BOOL","shape":[1,1],"data":[[true]]}],"outputs":[{"name":"b"}]})";
  const std::string head =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}},)"
      R"({"name":"i","datatype":"INT64","shape":[1],"parameters":{"binary_data_size":8}},)"
      R"({"name":"b","datatype":"BOOL","shape":[1,1],"parameters":{"binary_data_size":1}}],)"
      R"("parameters":{"binary_data_output":true}})";
  const std::string tensors(16, '\0');
  const std::string completion =
      R"({"model":"m","prompt":["ab",[1,2]],"max_tokens":3,"temperature":0.5,"top_p":0.9,"top_k":4,)"
      R"("seed":7,"stop":["x","yz"],"n":2,"echo":true,"logprobs":2,"stream":true,)"
      R"("stream_options":{"include_usage":true},"best_of":null,"logit_bias":{},"user":"u"})";
  const auto post = [](const std::string& headers, const std::string& body) {
    return "POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n" + body;
  };
  const auto sized = [&](const std::string& body, const std::string& headers) {
    return post("Content-Length: " + std::to_string(body.size()) + "\r\n" + headers, body);
  };
  return {bytes_of(
              "GET /v2/health%20/live?x HTTP/1.1\r\nHost: h\r\n\r\nGET http://h/ HTTP/1.0\r\n\r\n"),
          bytes_of(sized(json, "Connection: keep-alive\r\n")),
          bytes_of(post("Transfer-Encoding: chunked\r\n",
                        "5\r\n{\"inp\r\n3;x=y\r\nuts\r\n0\r\nT: u\r\n\r\n")),
          bytes_of("POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: " +
                   std::to_string(completion.size()) + "\r\n\r\n" + completion),
          bytes_of(sized(head + tensors + "\x01", "Inference-Header-Content-Length: " +
                                                      std::to_string(head.size()) + "\r\n"))};
}

std::vector<std::string> words() {
  return {"\r\n",
          "\r\n\r\n",
          "HTTP/1.1",
          "HTTP/1.0",
          "Host: h\r\n",
          "Content-Length: ",
          "Transfer-Encoding: chunked\r\n",
          "0\r\n\r\n",
          "Expect: 100-continue\r\n",
          "Inference-Header-Content-Length: ",
          "\"prompt\"",
          "\"max_tokens\"",
          "\"seed\"",
          "\"inputs\"",
          "\"outputs\"",
          "\"parameters\"",
          "\"binary_data_size\"",
          "\"shape\"",
          "\"data\"",
          "\"datatype\"",
          "\"FP32\"",
          "\"NaN\"",
          "\"Infinity\"",
          "18446744073709551615",
          "-1",
          "1e999",
          "ffffffffffffffff",
          "%00",
          "["};
}

}  // namespace

const Target& http() {
  static const Target target{"http", read, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
