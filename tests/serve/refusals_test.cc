// Who and what is refused: tokens, pages of other origins, errors as their clients see them.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <future>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/activation.h"
#include "limpid/serve/bearer_token.h"
#include "limpid/serve/cors.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/router.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid::serve {
namespace {

Request asked(const std::string& method, std::vector<std::string> segments,
              std::vector<Header> headers = {}) {
  Request request;
  request.method = method;
  request.segments = std::move(segments);
  request.headers = std::move(headers);
  return request;
}

bool opens(const BearerToken& token, const std::string& given) {
  try {
    token.check(asked("GET", {"v2"}, {{"authorization", given}}));
    return true;
  } catch (const HttpError& error) {
    EXPECT_EQ(error.status(), 401);
    EXPECT_EQ(error.headers(), (std::vector<Header>{{"WWW-Authenticate", "Bearer"}}));
    return false;
  }
}

TEST(BearerToken, EveryCharacterCounts) {
  const std::string secret = "correct-horse";
  const BearerToken token(secret);
  EXPECT_TRUE(opens(token, "Bearer " + secret));
  EXPECT_TRUE(opens(token, "bEARER " + secret));
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::string other = secret;
    ++other[i];
    EXPECT_FALSE(opens(token, "Bearer " + other)) << i;
  }
  EXPECT_FALSE(opens(token, "Bearer " + secret + "s"));
  EXPECT_FALSE(opens(token, "Bearer"));
  EXPECT_FALSE(opens(token, secret));
}

TEST(BearerToken, IsOfPrintableCharacters) {
  EXPECT_NO_THROW(BearerToken(std::string(8, 'a')));
  EXPECT_NO_THROW(BearerToken(std::string(4096, '~')));
  EXPECT_NO_THROW(BearerToken(std::string(8, '!')));
  for (const std::string& wrong :
       {std::string(7, 'a'), std::string(4097, 'a'), std::string("correct horse"),
        std::string("correct\thorse"), std::string("correct-horse\r"),
        std::string("correct-horse\x7f"), std::string("correct-h\xc3\xb6rse")})
    EXPECT_THROW(BearerToken{wrong}, Error) << wrong;
  // One that is too long is not cut.
  const limpid::testing::TemporaryFolder folder;
  const std::string path = folder / "token";
  std::ofstream(path) << std::string(4097, 'a') << "\n";
  EXPECT_THROW(BearerToken::read(path), Error);
  std::ofstream(path) << std::string(4096, 'a') << "\n";
  EXPECT_TRUE(opens(BearerToken::read(path), "Bearer " + std::string(4096, 'a')));
}

TEST(BearerToken, ProbesNeedNone) {
  for (const char* method : {"GET", "HEAD"}) {
    EXPECT_TRUE(is_public(asked(method, {"health"})));
    EXPECT_TRUE(is_public(asked(method, {"v2", "health", "live"})));
    EXPECT_TRUE(is_public(asked(method, {"v2", "health", "ready"})));
    EXPECT_FALSE(is_public(asked(method, {})));
    EXPECT_FALSE(is_public(asked(method, {"health", "live"})));
    EXPECT_FALSE(is_public(asked(method, {"v2", "health"})));
    EXPECT_FALSE(is_public(asked(method, {"metrics"})));
  }
  EXPECT_FALSE(is_public(asked("POST", {"health"})));
}

TEST(Cors, AnOriginIsASchemeAndAHost) {
  for (const char* text : {"https://example.org", "http://localhost:3000", "http://[::1]:80", "*"})
    EXPECT_NO_THROW(Cors({text})) << text;
  for (const char* text : {"https://Example.org", "://example.org", "example.org", "http://",
                           "http://a/", "http://a b", "http://a;b", ""})
    EXPECT_THROW(Cors({text}), Error) << text;
}

// A page whose own domain resolves to this machine (DNS rebinding) reads nothing.
TEST(Cors, ALocalServerHasNoStrangersName) {
  const auto takes = [](const Cors& cors, const char* method, const char* host) {
    try {
      cors.check(asked(method, {"v2"}, {{"host", host}}));
      return true;
    } catch (const HttpError& error) {
      EXPECT_EQ(error.status(), 403);
      return false;
    }
  };
  const Cors local({"https://models.example.org"}, true);
  for (const char* method : {"GET", "HEAD", "POST"}) {
    for (const char* host : {"127.0.0.1:8000", "localhost", "[::1]:80", "models.example.org", ""})
      EXPECT_TRUE(takes(local, method, host)) << host;
    for (const char* host : {"evil.example", "evil.example:8000", "localhost.evil.example"})
      EXPECT_FALSE(takes(local, method, host)) << host;
    EXPECT_TRUE(takes(Cors({}, false), method, "evil.example"));
  }
}

TEST(Cors, PagesMayReadWhatIsPublic) {
  const Cors cors({"https://example.org"});
  const auto from = [&](const char* method, const char* origin) {
    try {
      cors.check(asked(method, {"v2"}, {{"host", "h"}, {"origin", origin}}));
      return true;
    } catch (const HttpError& error) {
      EXPECT_EQ(error.status(), 403);
      return false;
    }
  };
  for (const char* method : {"GET", "HEAD"}) EXPECT_TRUE(from(method, "https://evil.example"));
  for (const char* method : {"POST", "OPTIONS", "PUT"}) {
    EXPECT_FALSE(from(method, "https://evil.example"));
    EXPECT_TRUE(from(method, "https://example.org"));
  }
}

TEST(Cors, ThePageOfAnOriginIsToldWhatItMayDo) {
  const Cors cors({"https://example.org"});
  const Header origin{"origin", "https://example.org"};
  EXPECT_TRUE(cors.headers(asked("GET", {"v2"}, {{"origin", "https://evil.example"}})).empty());
  EXPECT_EQ(
      cors.headers(asked("GET", {"v2"}, {origin})),
      (std::vector<Header>{{"Access-Control-Allow-Origin", "https://example.org"},
                           {"Vary", "Origin"},
                           {"Access-Control-Expose-Headers",
                            "Limpid-Receipt, Inference-Header-Content-Length, Retry-After"}}));
  Request preflight = asked("OPTIONS", {"v2"}, {origin, {"access-control-request-method", "POST"}});
  std::vector<Header> expected{{"Access-Control-Allow-Origin", "https://example.org"},
                               {"Vary", "Origin"},
                               {"Access-Control-Allow-Methods", "GET, HEAD, POST"},
                               {"Access-Control-Max-Age", "600"}};
  EXPECT_EQ(cors.headers(preflight), expected);
  preflight.headers.push_back({"access-control-request-headers", "content-type"});
  preflight.headers.push_back({"access-control-request-private-network", "true"});
  expected.insert(expected.begin() + 3, {{"Access-Control-Allow-Headers", "content-type"},
                                         {"Access-Control-Allow-Private-Network", "true"}});
  EXPECT_EQ(cors.headers(preflight), expected);
}

// Holds up the thread that sends it.
class Held final : public Answer {
 public:
  explicit Held(std::shared_future<void> until) : until_(std::move(until)) {}
  void send(Response) override {
    begun.set_value();
    until_.wait();
  }
  void begin(Response) override {}
  bool part(std::string) override { return false; }
  std::size_t unsent() const override { return 0; }
  void end(Facts) override {}

  std::promise<void> begun;

 private:
  std::shared_future<void> until_;
};

// One is under way, and sixteen wait.
TEST(Router, WhoComesBehindTooManyLoadsOrTracesIsToldToComeAgain) {
  const Limits limits;
  Metrics metrics;
  AccessLog log("");
  Batcher batcher({});
  Scheduler scheduler({});
  const nn::Mlp net = nn::mlp({2, 3}, relu);
  Models models({.open =
                     [&](const std::string&) {
                       return Model{net.function(), net.init(Key(1)), ""};
                     },
                 .keep_sources = true},
                batcher, scheduler, metrics);
  models.load(models.add("net=net").name);
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  Router router({.limits = limits,
                 .models = models,
                 .batcher = batcher,
                 .scheduler = scheduler,
                 .metrics = metrics,
                 .log = log,
                 .version = "0",
                 .may_load = true,
                 .may_inspect = true});
  Request trace = asked("POST", {"v2", "models", "net", "trace"});
  trace.body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})";
  for (const Request& request :
       {asked("POST", {"v2", "repository", "models", "net", "load"}), trace}) {
    const auto first = std::make_shared<Held>(opened);
    router(request, first);
    first->begun.get_future().wait();
    for (int i = 0; i < 16; ++i) router(request, std::make_shared<Held>(opened));
    try {
      router(request, std::make_shared<Held>(opened));
      ADD_FAILURE();
    } catch (const HttpError& error) {
      EXPECT_EQ(error.status(), 503);
      expect_message(error.what());
      EXPECT_EQ(error.headers(), (std::vector<Header>{{"Retry-After", "1"}}));
    }
  }
  open.set_value();
}

// It would read tokens that the model does not have.
TEST(Models, WithMoreTokensThanLogitsWriteNoTexts) {
  Metrics metrics;
  Batcher batcher({});
  Scheduler scheduler({});
  const auto writes = [&](std::int64_t vocabulary) {
    const nn::Gpt net{.vocabulary = vocabulary, .context = 8, .layers = 1, .width = 4, .heads = 1};
    std::string config = net.config();
    config.pop_back();
    config += R"(,"data":{"task":"next_token","class_names":["a","b","c","d"]}})";
    Models models({.open =
                       [&](const std::string&) {
                         return Model{net.function(), net.init(Key(1)), config};
                       }},
                  batcher, scheduler, metrics);
    models.load(models.add("gpt=gpt").name);
    return models.find("gpt")->language != nullptr;
  };
  EXPECT_TRUE(writes(4));
  EXPECT_FALSE(writes(3));
}

HttpError told(const std::exception_ptr& thrown) { return to_http_error(thrown); }

TEST(HttpError, TellsTheFirstLineAndNoFiles) {
  const auto of = [](ErrorCode code) {
    return told(std::make_exception_ptr(Error(code, "/etc/passwd is odd\nmore")));
  };
  for (const ErrorCode code : {ErrorCode::kInvalidArgument, ErrorCode::kShape, ErrorCode::kDtype,
                               ErrorCode::kParse, ErrorCode::kFormat, ErrorCode::kNotFound}) {
    EXPECT_EQ(of(code).status(), 400);
    EXPECT_STREQ(of(code).what(), "/etc/passwd is odd");
  }
  EXPECT_EQ(of(ErrorCode::kUnsupported).status(), 501);
  EXPECT_STREQ(of(ErrorCode::kUnsupported).what(), "/etc/passwd is odd");
  for (const ErrorCode code : {ErrorCode::kIo, ErrorCode::kNoGradient, ErrorCode::kInternal}) {
    EXPECT_EQ(of(code).status(), 500);
    EXPECT_STREQ(of(code).what(), "internal error");
  }
  EXPECT_STREQ(told(std::make_exception_ptr(std::runtime_error("/etc/passwd"))).what(),
               "internal error");
  EXPECT_STREQ(told(std::make_exception_ptr(7)).what(), "internal error");
  for (const HttpError& none :
       {of(ErrorCode::kNoMemory), told(std::make_exception_ptr(std::bad_alloc()))}) {
    EXPECT_EQ(none.status(), 503);
    EXPECT_STREQ(none.what(), "out of memory");
    EXPECT_EQ(none.headers(), (std::vector<Header>{{"Retry-After", "1"}}));
  }
  const HttpError own = told(std::make_exception_ptr(HttpError(418, "teapot", {{"A", "b"}})));
  EXPECT_EQ(own.status(), 418);
  const Response response = error_response(own);
  EXPECT_EQ(response.status, 418);
  EXPECT_EQ(response.body, R"({"error":"teapot"})");
  EXPECT_EQ(response.headers, (std::vector<Header>{{"A", "b"}}));
}

}  // namespace
}  // namespace limpid::serve
