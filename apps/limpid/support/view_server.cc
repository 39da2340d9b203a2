#include "apps/limpid/support/view_server.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "apps/limpid/support/page_files.h"
#include "apps/limpid/support/view_lab.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/stop_check.h"
#include "limpid/serve/http_error.h"
#include "limpid/train/run/run_folder.h"
#include "limpid/view/api.h"
#include "limpid/view/runs.h"

namespace limpid::tool {
namespace {

using serve::Answer;
using serve::HttpError;
using serve::Request;
using serve::Response;

constexpr std::string_view kNoPage =
    "This tool was built without its page, which needs npm (Node 20.19 or later). See "
    "docs/view.md.\n";

// No other page may embed these in a frame.
std::vector<serve::Header> headers_with(const std::string& policy) {
  return {{"Content-Security-Policy",
           policy + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

// The page may load only what the tool itself serves.
const std::vector<serve::Header>& safe_headers() {
  static const std::vector<serve::Header> headers = headers_with(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
      "connect-src 'self'; worker-src 'self'; font-src 'self'; manifest-src 'self'");
  return headers;
}

std::string_view type_of(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".ico", "image/x-icon"},
      {".json", "application/json"},
      {".txt", "text/plain; charset=utf-8"},
      {".md", "text/plain; charset=utf-8"},
      {".woff2", "font/woff2"}};
  for (const auto& [ending, type] : kTypes)
    if (path.ends_with(ending)) return type;
  return "application/octet-stream";
}

bool begins_with_api(const Request& request) {
  return !request.segments.empty() && request.segments.front() == "api";
}

// The value of a key of the query, percent-decoded.
std::optional<std::string> query_value(const Request& request, std::string_view key) {
  const std::size_t mark = request.target.find('?');
  if (mark == std::string::npos) return {};
  std::string_view query = std::string_view(request.target).substr(mark + 1);
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || part.substr(0, equals) != key) continue;
    std::string value;
    for (std::size_t i = equals + 1; i < part.size(); ++i) {
      unsigned byte = 0;
      const bool hex =
          part[i] == '%' && i + 2 < part.size() &&
          std::from_chars(&part[i + 1], &part[i + 1] + 2, byte, 16).ptr == &part[i + 1] + 2;
      value += hex ? static_cast<char>(byte) : part[i];
      if (hex) i += 2;
    }
    return value;
  }
  return {};
}

// ---- failures

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kUnsupported:
      return 422;
    case ErrorCode::kNoMemory:
      return 503;
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return 500;
    default:
      return 400;
  }
}

Response failure(int status, std::string_view code, std::string_view message) {
  return {.status = status,
          .body = view::failure_json(code, message.substr(0, message.find('\n'))),
          .headers = safe_headers()};
}

// One sentence: the page shows it unchanged.
Response failure_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& e) {
    return failure(status_of(e.code()), limpid::name(e.code()), e.what());
  } catch (const HttpError& e) {
    return failure(e.status(), "http", e.what());
  } catch (const Stopped&) {
    return failure(503, "busy", "the request was given up, or the server ends");
  } catch (const std::bad_alloc&) {
    return failure(503, "busy", "out of memory");
  } catch (const std::exception& e) {
    return failure(500, "internal", e.what());
  }
}

Response json(std::string body) {
  Response response{.body = std::move(body), .headers = safe_headers()};
  response.headers.push_back({"Cache-Control", "no-store"});
  return response;
}

Response as_response(std::string body) { return json(std::move(body)); }
Response as_response(Response response) { return response; }

// A task that sends its exception as the response.
template <class Make>
auto answering(const std::shared_ptr<Answer>& answer, Make make) {
  return [answer, make = std::move(make)] {
    try {
      answer->send(as_response(make()));
    } catch (...) {
      answer->send(failure_of(std::current_exception()));
    }
  };
}

// The report.html of a run, with its style and pictures inside. The folder is not trusted: in the
// sandbox the report runs no scripts and cannot read the page.
Response report_of(view::Session& session, const std::string& run) {
  const auto path = train::RunFolder(session.runs().folder(run)).report();
  if (std::error_code ignored; !std::filesystem::exists(path, ignored))
    throw Error(ErrorCode::kNotFound, "the run has no report yet: `limpid report` writes it");
  Response response{.body = train::read_text(path),
                    .content_type = "text/html; charset=utf-8",
                    .headers = headers_with(
                        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox")};
  response.headers.push_back({"Cache-Control", "no-store"});
  return response;
}

// A page whose view changes gives up what it has asked for before.
void post(serve::Worker& worker, const Request& request, const std::shared_ptr<Answer>& answer,
          std::function<void()> task) {
  if (!worker.post(std::move(task), request.ticket))
    answer->send(failure(503, "busy", "too many requests are waiting: try again"));
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error(ErrorCode::kIo, "the system provides no random numbers");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

ViewServer::ViewServer(view::Session& session, const std::string& token)
    : session_(session), token_(token) {
  // Last: if another thread cannot be started, none that is not joined may be left.
  teller_ = std::thread([this] { tell_followers(); });
}

ViewServer::~ViewServer() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  teller_.join();
}

void ViewServer::admit(const Request& head) const {
  if (!begins_with_api(head)) return;
  Request asking = head;
  if (const auto token = query_value(head, "token"); token && !head.header("authorization"))
    asking.headers.push_back({"authorization", "Bearer " + *token});
  try {
    token_.check(asking);
  } catch (const HttpError&) {
    throw HttpError(403, "expected the token of the address that limpid view printed");
  }
}

// The task, which ends early once nobody waits for its answer, or the server ends.
template <class Task>
auto ViewServer::until_given_up(std::shared_ptr<const serve::Ticket> ticket, Task task) const {
  return [this, ticket = std::move(ticket), task = std::move(task)] {
    StopCheck check([&] { return ticket->given_up() || ends_; });
    const StopScope scope(check);
    return task();
  };
}

void ViewServer::answer(Request request, std::shared_ptr<Answer> answer) {
  if (!begins_with_api(request)) return file(request, *answer);
  std::string name;
  for (std::size_t i = 1; i < request.segments.size(); ++i)
    name += (i > 1 ? "/" : "") + request.segments[i];
  if (name == "run/events" && request.method == "GET") return follow(request, std::move(answer));
  if (name == "run/report" && request.method == "GET")
    return post(quick_, request, answer,
                answering(answer, [this, run = query_value(request, "run").value_or("")] {
                  return report_of(session_, run);
                }));
  if (request.method != "POST")
    return answer->send(failure(405, "http", "expected the method POST"));
  if (name == "open") return open(request, answer);
  const view::Endpoint* endpoint = view::find_endpoint(view::endpoints(), name);
  if (!endpoint) endpoint = view::find_endpoint(lab_endpoints(), name);
  if (!endpoint)
    return answer->send(
        failure(404, "not_found", fmt::format("there is no request {}", in_quotes(name))));
  if (request.body.size() > session_.limits().body)
    return answer->send(failure(413, "too_large", "the request has too many bytes"));
  const auto task = [this, endpoint, body = std::move(request.body)] {
    return view::answer(session_, *endpoint, body);
  };
  switch (endpoint->effort) {
    case view::Effort::kQuick:
      return post(quick_, request, answer, answering(answer, task));
    case view::Effort::kAction:
      return post(actions_, request, answer, answering(answer, task));
    case view::Effort::kSlow:
      return post(slow_, request, answer, answering(answer, until_given_up(request.ticket, task)));
  }
}

// ---- files

void ViewServer::file(const Request& request, Answer& answer) const {
  if (request.method != "GET" && request.method != "HEAD")
    return answer.send(failure(405, "http", "expected the method GET"));
  std::string path;
  for (const std::string& segment : request.segments) path += (path.empty() ? "" : "/") + segment;
  if (path.empty()) path = "index.html";
  const std::span<const PageFile> files = page_files();
  if (files.empty() && path == "index.html")
    return answer.send({.status = 501,
                        .body = std::string(kNoPage),
                        .content_type = "text/plain; charset=utf-8",
                        .headers = safe_headers()});
  for (const PageFile& f : files) {
    if (f.path != path) continue;
    Response response{.body = std::string(f.bytes),
                      .content_type = std::string(type_of(path)),
                      .headers = safe_headers()};
    response.headers.push_back({"Content-Encoding", "gzip"});
    // Assets can be cached for ever: their names contain a hash of their contents.
    response.headers.push_back({"Cache-Control", path.starts_with("assets/")
                                                     ? "public, max-age=31536000, immutable"
                                                     : "no-cache"});
    return answer.send(std::move(response));
  }
  answer.send(failure(404, "not_found", "there is no such file"));
}

void ViewServer::open(const Request& request, const std::shared_ptr<Answer>& answer) {
  const std::string name = query_value(request, "name").value_or("");
  const auto task = [this, name, body = request.body] {
    const auto bytes = std::as_bytes(std::span(body));
    return view::model_json(*session_.open(name, bytes)).dump({.replace_invalid = true});
  };
  post(slow_, request, answer, answering(answer, until_given_up(request.ticket, task)));
}

// ---- following runs

// The runs to follow are RUN:CURSOR,RUN:CURSOR, and so is the id of an event: a browser that
// reconnects sends the last one, and no event comes twice.
void ViewServer::follow(const Request& request, std::shared_ptr<Answer> answer) {
  Follower follower;
  const std::string asked = query_value(request, "runs").value_or("");
  const std::string* const last = request.header("last-event-id");
  std::string_view list = last ? *last : asked;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    const std::string_view run = part.substr(0, part.find(':'));
    Followed& followed = follower.runs.emplace_back(Followed{.run = std::string(run)});
    if (run.size() < part.size())
      std::from_chars(part.data() + run.size() + 1, part.data() + part.size(), followed.cursor);
    if (!session_.runs().has(run))
      return answer->send(failure(404, "not_found", "there is no such run"));
  }
  follower.stream = std::make_unique<serve::EventStream>(std::move(answer), true);
  constexpr std::size_t kMostFollowers = 64;
  {
    const std::lock_guard lock(mutex_);
    if (following_ < kMostFollowers) {
      followers_.push_back(std::move(follower));
      ++following_;
    }
  }
  changed_.notify_all();
}

void ViewServer::tell_followers() {
  constexpr std::chrono::milliseconds kRound{200};
  constexpr int kBeat = 50;  // rounds without an event
  std::unique_lock lock(mutex_);
  while (!ends_) {
    changed_.wait_for(lock, kRound);
    std::vector<Follower> now = std::exchange(followers_, {});
    lock.unlock();
    std::vector<Follower> stay;
    for (Follower& f : now) {
      bool listens = true;
      try {
        listens = tell(f) && (++f.silent % kBeat != 0 || f.stream->beat());
      } catch (const std::exception&) {
        listens = false;  // the page connects again
      }
      if (listens) stay.push_back(std::move(f));
    }
    lock.lock();
    following_ -= now.size() - stay.size();
    for (Follower& f : stay) followers_.push_back(std::move(f));
  }
}

// Sends what is new of each of its runs. Returns false if nobody listens.
bool ViewServer::tell(Follower& f) {
  for (Followed& one : f.runs) {
    const view::LogDelta delta = session_.runs().log({.run = one.run, .cursor = one.cursor});
    // A run's state may change without a new line in its log.
    if (delta.cursor == one.cursor && delta.state == one.state && delta.error == one.error)
      continue;
    one.cursor = delta.cursor;
    one.state = delta.state;
    one.error = delta.error;
    f.silent = 0;
    std::string id;
    for (const Followed& each : f.runs)
      id += fmt::format("{}{}:{}", id.empty() ? "" : ",", each.run, each.cursor);
    if (!f.stream->event(view::to_json(delta).dump({.replace_invalid = true}), {}, id))
      return false;
  }
  return true;
}

}  // namespace limpid::tool
