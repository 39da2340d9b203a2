#include "limpid/serve/http_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "limpid/serve/http_error.h"
#include "tests/refusals.h"

namespace limpid::serve {
namespace {

using State = RequestReader::State;

// All requests of a connection whose bytes come in pieces of this size.
std::vector<Request> requests_of(std::string_view bytes, std::size_t piece,
                                 const Limits& limits = {}) {
  RequestReader reader(limits);
  std::vector<Request> requests;
  bool in_body = false;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.feed(bytes.substr(at, piece));
    for (;;) {
      const State state = reader.advance();
      if (state == State::kDone) requests.push_back(reader.take());
      const bool header_ended = state == State::kBody && !in_body;
      in_body = state == State::kBody;
      if (state != State::kDone && !header_ended) break;
    }
  }
  return requests;
}

constexpr std::string_view kThree =
    "GET /a%20b/c?d HTTP/1.1\r\nHost: h\r\nX: y \r\n\r\n"
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
    "Chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: u\r\n\r\n"
    "POST /e HTTP/1.0\r\nContent-Length: 4\r\n\r\n\r\n\r\n";

TEST(RequestReader, NamesOfFieldsAreOfAnyCase) {
  const std::vector<Request> requests = requests_of(
      "GET / HTTP/1.1\r\nHost: h\r\nABCDEFGHIJKLMnopqrstuvwxyz: A\r\n"
      "NOPQRSTUVWXYZ: B\r\n\r\n",
      100);
  ASSERT_EQ(requests.size(), 1u);
  ASSERT_TRUE(requests[0].header("abcdefghijklmnopqrstuvwxyz"));
  EXPECT_EQ(*requests[0].header("abcdefghijklmnopqrstuvwxyz"), "A");
  ASSERT_TRUE(requests[0].header("nopqrstuvwxyz"));
  EXPECT_EQ(*requests[0].header("nopqrstuvwxyz"), "B");
}

TEST(RequestReader, PiecesOfAnySizeGiveTheSameRequests) {
  for (std::size_t piece = 1; piece <= kThree.size(); ++piece) {
    const std::vector<Request> requests = requests_of(kThree, piece);
    ASSERT_EQ(requests.size(), 3) << piece;
    EXPECT_EQ(requests[0].method, "GET");
    EXPECT_EQ(requests[0].segments, (std::vector<std::string>{"a b", "c"}));
    EXPECT_EQ(*requests[0].header("x"), "y");
    EXPECT_TRUE(requests[0].keep_alive);
    EXPECT_EQ(requests[1].body, "abcde");
    EXPECT_EQ(requests[1].header("t"), nullptr);
    EXPECT_EQ(requests[2].body, "\r\n\r\n");
    EXPECT_FALSE(requests[2].keep_alive);
  }
}

int status_of(std::string_view bytes, const Limits& limits = {}) {
  try {
    requests_of(bytes, bytes.size(), limits);
  } catch (const HttpError& error) {
    return error.status();
  }
  return 200;
}

TEST(RequestReader, ARefusalSaysWhatWasExpected) {
  const std::string head = "GET / HTTP/1.1\r\nHost: h\r\n";
  std::vector<std::string> wrong{"GET / HTTP/1.1\r\n\r\n"};
  for (const char* const field :
       {"Host: i\r\nContent-Length: 0", "Transfer-Encoding: gzip", "Content-Encoding: gzip",
        "Expect: more", "X: a\n", "X: a\rb", "X: a\r\n b", "X: a\r\n\tb", "X: \x01"})
    wrong.push_back(head + field + "\r\n\r\n");
  for (const char* const target : {"/%4", "/%4g", "/%g4", "/%ff", "/%00", "/#", "*"})
    wrong.push_back(std::string("GET ") + target + " HTTP/1.1\r\nHost: h\r\n\r\n");
  for (const std::string& bytes : wrong) {
    try {
      requests_of(bytes, bytes.size());
      ADD_FAILURE() << bytes;
    } catch (const HttpError& error) {
      expect_message(error.what());
    }
  }
}

// What the parser leaves between chunks is no whole line yet.
TEST(RequestReader, TheLineOfAChunkIsBounded) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(status_of(head + "1;" + std::string(98, 'x'), {.header = 100}), 200);
  EXPECT_EQ(status_of(head + "1;" + std::string(99, 'x'), {.header = 100}), 400);
  for (const char* const line : {"\n", "1\n", "1\r\na\n"})
    EXPECT_EQ(status_of(head + line), 400) << line;
}

TEST(RequestReader, ABodyHasOneLength) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\n",
                    chunked = "Transfer-Encoding: chunked\r\n", length = "Content-Length: 5\r\n",
                    body = "\r\n0\r\n\r\n";
  EXPECT_EQ(status_of(head + chunked + body), 200);
  EXPECT_EQ(status_of(head + length + body), 200);
  EXPECT_EQ(status_of(head + chunked + length + body), 400);
  EXPECT_EQ(status_of(head + length + chunked + body), 400);
  EXPECT_EQ(status_of(head + length + length + body), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\n" + chunked + body), 400);
}

TEST(RequestReader, ALineWithoutAVersionIsNoRequest) {
  EXPECT_EQ(status_of("POST /v2\r\n\r\n"), 400);
  EXPECT_EQ(status_of("POST /v2\"Content-Length:1\r\n\r\n{"), 400);
  EXPECT_EQ(status_of("\r\n\r\n"), 400);
}

TEST(RequestReader, LimitsHoldToTheByte) {
  const std::string head = "POST /abc HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n";
  EXPECT_EQ(status_of(head + "12345", {.header = head.size() - 4, .body = 5}), 200);
  EXPECT_EQ(status_of(head + "12345", {.header = head.size() - 5, .body = 5}), 431);
  EXPECT_EQ(status_of(head + "12345", {.body = 4}), 413);
  const std::string chunks =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  EXPECT_EQ(status_of(chunks, {.body = 5}), 200);
  EXPECT_EQ(status_of(chunks, {.body = 4}), 413);
  // Of a URL: 32 bytes are for what is around it.
  const auto get = [](std::size_t size) {
    return "GET /" + std::string(size - 1, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n";
  };
  EXPECT_EQ(status_of(get(28), {.url = 10}), 200);
  EXPECT_EQ(status_of(get(29), {.url = 10}), 414);
}

TEST(RequestReader, WhatOtherClientsSendIsTaken) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n";
  EXPECT_EQ(status_of(head + "X: a\tb\r\n\r\n"), 200);
  EXPECT_EQ(status_of(head + "Content-Encoding: Identity\r\n\r\n"), 200);
  EXPECT_EQ(status_of(head + "Content-Encoding: gzip\r\n\r\n"), 415);
  EXPECT_EQ(status_of(head + "Expect: 100-Continue\r\n\r\n"), 200);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\nHost: h\r\nHost: h\r\n\r\n"), 400);
}

// Each counts what is around its own chunks.
TEST(RequestReader, AConnectionMayHaveManyBodies) {
  std::string bytes;
  for (int i = 0; i < 40; ++i)
    bytes += "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000\r\n\r\n" + std::string(3000, 'a');
  EXPECT_EQ(requests_of(bytes, bytes.size()).size(), 40u);
}

// Readers of one thread hand the memory of small requests on.
TEST(RequestReader, IdleConnectionsHoldNoMemory) {
  const Limits limits;
  std::string spare;
  RequestReader reader(limits, &spare);
  const auto take = [&](std::size_t size) {
    reader.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(size) +
                "\r\n\r\n" + std::string(size, 'a'));
    while (reader.advance() != State::kDone) {
    }
    return reader.take().body.size();
  };
  EXPECT_EQ(take(1000), 1000u);
  EXPECT_GE(spare.capacity(), 1000u);
  EXPECT_EQ(take(500'000), 500'000u);
  EXPECT_LT(spare.capacity(), 500'000u);
}

// Such a request may come without a token.
TEST(RequestReader, OnlyPostHasALargeBody) {
  const std::string rest =
      " /abc HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'a');
  EXPECT_EQ(status_of("POST" + rest, {.header = 100}), 200);
  for (const char* const method : {"GET", "HEAD", "OPTIONS", "POSTS", "PUT"})
    EXPECT_EQ(status_of(method + rest, {.header = 100}), 413) << method;
  EXPECT_EQ(status_of("GET" + rest, {.header = 101}), 200);
}

TEST(RequestReader, ABodyTakesMemoryAsItComes) {
  const Limits limits{.body = std::size_t{1} << 60};
  RequestReader reader(limits);
  reader.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000000000\r\n\r\nabc");
  EXPECT_EQ(reader.advance(), State::kBody);
  EXPECT_EQ(reader.advance(), State::kBody);
  EXPECT_EQ(reader.body_bytes(), 3);
}

// The limit of a body does not count what is around its chunks: here, a hundred bytes for each.
TEST(RequestReader, ChunksAreNotMuchLargerThanTheirBody) {
  const auto chunks = [](std::size_t count) {
    std::string text = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (std::size_t i = 0; i < count; ++i) text += "1;" + std::string(100, 'x') + "\r\na\r\n";
    return text + "0\r\n\r\n";
  };
  EXPECT_EQ(status_of(chunks(100)), 200);
  EXPECT_EQ(status_of(chunks(1000)), 400);
  std::string single = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 40'000; ++i) single += "1\r\na\r\n";
  EXPECT_EQ(status_of(single + "0\r\n\r\n"), 200);
}

TEST(RequestReader, AClientMayWaitForContinue) {
  const Limits limits;
  RequestReader reader(limits);
  reader.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(reader.advance(), State::kBody);
  EXPECT_TRUE(reader.waits_for_continue());
  reader.feed("abc");
  EXPECT_EQ(reader.advance(), State::kDone);
  EXPECT_FALSE(reader.waits_for_continue());
  // HTTP/1.0 has no such answer: its client would take it for that to the request.
  RequestReader old(limits);
  old.feed("POST / HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(old.advance(), State::kBody);
  EXPECT_FALSE(old.waits_for_continue());
}

TEST(PathSegments, AreDecodedEachByItself) {
  EXPECT_EQ(path_segments("/"), (std::vector<std::string>{}));
  EXPECT_EQ(path_segments("/a/"), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(path_segments("//a"), (std::vector<std::string>{"", "a"}));
  EXPECT_EQ(path_segments("/a%2Fb/%c3%a4"), (std::vector<std::string>{"a/b", "\xc3\xa4"}));
  EXPECT_EQ(path_segments("https://h:1/a?b/c"), (std::vector<std::string>{"a"}));
  EXPECT_EQ(path_segments("HTTP://h/a"), (std::vector<std::string>{"a"}));
}

}  // namespace
}  // namespace limpid::serve
