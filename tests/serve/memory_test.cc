// The server when an allocation fails: it keeps running, whichever it is. The request concerned
// gets an error, or its connection ends; no other is affected.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "limpid/limpid.h"
#include "limpid/serve/model_folder.h"
#include "limpid/serve/router.h"
#include "limpid/serve/server.h"
#include "tests/formats/helpers.h"
#include "tests/serve/failing_memory.h"

namespace limpid::serve {
namespace {

Model network() {
  const auto net = nn::mlp({2, 4, 3}, relu);
  return {net.function(), net.init(Key(1)), ""};
}

Model transformer() {
  const nn::Gpt net{.vocabulary = 6, .context = 32, .layers = 1, .width = 12};
  std::string config = net.config();
  config.pop_back();
  config += R"(,"data":{"task":"next_token","class_names":["\n","a","b","c"]}})";
  return {net.function(), net.init(Key(1)), config};
}

// Composed as in `limpid serve`.
class Whole {
 public:
  explicit Whole(std::chrono::microseconds max_delay) : batcher_({.max_delay = max_delay}) {
    models_.load(models_.add("net=net").name);
    models_.load(models_.add("gpt=gpt").name);
    thread_ = std::thread([this] { server_.run(); });
  }
  ~Whole() {
    ::kill(::getpid(), SIGTERM);
    thread_.join();
  }
  int port() const { return std::stoi(server_.url().substr(server_.url().rfind(':') + 1)); }

 private:
  Limits limits_;
  Metrics metrics_;
  AccessLog log_{"/dev/null"};
  ThreadPool pool_{{.threads = 2}};
  Batcher batcher_;
  Scheduler scheduler_{{}};
  Models models_{
      {.open = [](const std::string& path) { return path == "net" ? network() : transformer(); },
       .pool = &pool_,
       .max_texts = 2},
      batcher_,
      scheduler_,
      metrics_};
  Router router_{{.limits = limits_,
                  .models = models_,
                  .batcher = batcher_,
                  .scheduler = scheduler_,
                  .metrics = metrics_,
                  .log = log_,
                  .version = "0"}};
  Server server_{{.port = 0,
                  .limits = limits_,
                  .say = error_of,
                  .handle =
                      [this](Request request, const std::shared_ptr<Answer>& answer) {
                        router_(std::move(request), answer);
                      },
                  .on_round = [this] { batcher_.wake(); }},
                 metrics_,
                 log_};
  std::thread thread_;
};

// The bytes that a connection of its own gets for a request; what the system says where none came
// in time.
std::string ask(int port, const std::string& request) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const timeval longest{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  std::string answer;
  ssize_t size = ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  char bytes[4096];
  while (size > 0 && (size = ::recv(fd, bytes, sizeof bytes, 0)) > 0)
    answer.append(bytes, static_cast<std::size_t>(size));
  EXPECT_FALSE(size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) << "no answer: " << answer;
  ::close(fd);
  return answer;
}

std::string post(const std::string& path, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: 1\r\nConnection: close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The values of these members, which are the same in every answer of 200.
std::string facts_of(const std::string& answer) {
  std::string facts;
  for (const std::string_view member : {R"("data":)", R"("text":)", R"("finish_reason":)"})
    for (std::size_t at = 0; (at = answer.find(member, at)) != std::string::npos;) {
      const std::size_t end = answer.find_first_of("]}\n", at);
      facts += answer.substr(at, end - at);
      at = end;
    }
  return facts;
}

struct Asked {
  const char* what;
  std::string request;
  std::string end;  // of a whole answer
};

// Each allocation of a request in turn.
void fail_each(int port, const Asked& asked) {
  SCOPED_TRACE(asked.what);
  std::string expected;
  for (int i = 0; i < 3; ++i) {
    const std::string answer = ask(port, asked.request);
    ASSERT_TRUE(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(asked.end)) << answer;
    expected = facts_of(answer);
  }
  std::int64_t n = 0, errors = 0, cut = 0;
  bool failed = true;
  for (; failed; ++n) {
    fail_allocation(n + 1);
    const std::string answer = ask(port, asked.request);
    fail_allocation(0);
    failed = has_failed();
    if (!answer.ends_with(asked.end)) {
      ++cut;
    } else if (has(answer, "\"error\"")) {
      ++errors;
    } else {
      EXPECT_EQ(facts_of(answer), expected) << "allocation " << n;
    }
    const std::string next = ask(port, asked.request);
    ASSERT_TRUE(next.ends_with(asked.end)) << "allocation " << n << ": " << next;
    ASSERT_EQ(facts_of(next), expected) << "after allocation " << n;
  }
  EXPECT_GT(errors, 0);
  EXPECT_LT(errors + cut, n);
}

const std::string kRows =
    R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":[1,2,3,4]}]})";
constexpr const char* kInfer = "/v2/models/net/infer";
constexpr const char* kComplete = "/v1/completions";

TEST(Memory, OneAllocationThatFailsCostsOneAnswer) {
  exempt_this_thread();
  const Whole server(std::chrono::microseconds(0));
  fail_each(server.port(), {"computed at once", post(kInfer, kRows), "}"});
  // Read on another thread.
  fail_each(server.port(), {"a large body", post(kInfer, kRows + std::string(70'000, ' ')), "}"});
  const std::string text = R"({"model":"gpt","prompt":"ab","max_tokens":4,"seed":1)";
  fail_each(server.port(), {"texts", post(kComplete, text + R"(,"n":2})"), "}"});
  fail_each(server.port(),
            {"a stream", post(kComplete, text + R"(,"stream":true})"), "\r\n0\r\n\r\n"});
}

// A place that is taken without a sequence in it would be lost.
TEST(Memory, OneAllocationThatFailsCostsNoPlace) {
  exempt_this_thread();
  const nn::Gpt net{.vocabulary = 6, .context = 32, .layers = 1, .width = 12};
  const Params params = net.init(Key(1));
  const std::vector<std::int32_t> prompt{1, 2, 3};
  bool joined = false;
  for (std::int64_t n = 1; !joined; ++n) {
    nn::LanguageModel model(net, params, {.sequences = 1});
    std::thread([&] {
      fail_allocation(n);
      try {
        const auto sequence = model.join(prompt);
        joined = true;
      } catch (const std::bad_alloc&) {
      }
      fail_allocation(0);
    }).join();
    EXPECT_EQ(model.places(), 1) << n;
    EXPECT_EQ(model.join(prompt).tokens().size(), prompt.size()) << n;
  }
}

// A separate thread looks at the folder of models every second.
TEST(Memory, OneAllocationThatFailsCostsOneLookAtAFolder) {
  exempt_this_thread();
  const testing::TemporaryFolder folder;
  Metrics metrics;
  AccessLog log("");
  Batcher batcher({});
  Scheduler scheduler({});
  Models models({.open = [](const std::string&) { return network(); }}, batcher, scheduler,
                metrics);
  const ModelFolder watched(folder.path(), models, log);
  for (std::int64_t n = 1; n <= 3; ++n) {
    fail_allocation(n);
    while (!has_failed()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fail_allocation(0);
  std::ofstream(folder / "late.safetensors") << "a model";
  while (!models.find("late")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

TEST(Memory, AModelOfAFolderThatFoundNoneIsReadAgain) {
  const limpid::testing::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary / "models", other = temporary / "others";
  std::filesystem::create_directories(folder);
  std::filesystem::create_directories(other);
  std::ofstream(folder / "large.safetensors") << "a model";
  std::ofstream(folder / "changed.safetensors") << "a larger model";
  std::ofstream(other / "stays.safetensors") << "a model";
  Metrics metrics;
  AccessLog log("");
  Batcher batcher({});
  Scheduler scheduler({});
  std::atomic<int> tries{0}, tries_of_changed{0};
  const auto open_changed = [&](const std::string& path) {
    if (++tries_of_changed == 3) return network();
    if (tries_of_changed == 2) std::ofstream(path) << "a smaller model";
    throw std::bad_alloc();
  };
  Models models({.open =
                     [&](const std::string& path) {
                       if (path.ends_with("stays.safetensors")) return network();
                       if (path.ends_with("changed.safetensors")) return open_changed(path);
                       if (++tries == 1) throw std::bad_alloc();
                       if (tries == 2) throw Error(ErrorCode::kNoMemory, "tensor: 1 byte");
                       return network();
                     }},
                batcher, scheduler, metrics);
  const ModelFolder watched(folder, models, log), moved(other, models, log);
  // A folder that is away for some looks keeps its models.
  std::filesystem::rename(other, temporary / "away");
  ASSERT_EQ(models.index().size(), 3u);
  EXPECT_EQ(models.index()[1].name, "large");
  EXPECT_EQ(models.index()[1].reason, "out of memory");
  for (int i = 0; i < 2000 && !models.find("large"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(tries, 3);
  EXPECT_TRUE(models.find("stays"));
  ASSERT_EQ(models.index().size(), 3u);
  EXPECT_EQ(models.index()[1].reason, "");
  // A look reads models by name. One that has changed does not wait as the old one would have.
  EXPECT_TRUE(models.find("changed"));
}

TEST(Memory, OneAllocationThatFailsCostsOneAnswerOfAWorker) {
  exempt_this_thread();
  const Whole server(std::chrono::microseconds(1));
  fail_each(server.port(), {"a batch", post(kInfer, kRows), "}"});
}

}  // namespace
}  // namespace limpid::serve
