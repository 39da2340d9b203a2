// Limits: what clients of a server may ask for, each with its default.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace limpid::serve {

struct Limits {
  // Of one request, in bytes.
  std::size_t url = 8192;
  std::size_t header = 16384;  // the request line included
  std::size_t body = std::size_t{64} << 20;
  std::size_t answer = std::size_t{256} << 20;  // the tensors of an answer
  std::int64_t rows = std::int64_t{1} << 20;    // examples of a request

  std::int64_t tokens = 4096;  // that a completion writes
  std::int64_t texts = 128;    // completions of a request

  // Of all together.
  std::size_t bodies = std::size_t{1} << 30;  // bytes of the bodies of requests under way
  std::size_t connections = 8192;
  std::size_t queue = 1024;  // requests and texts that wait for a model

  std::chrono::milliseconds header_time{10'000};  // from a request's first byte to its last header
  std::chrono::milliseconds idle_time{75'000};    // between two requests of a connection
  std::chrono::milliseconds slack{10'000};        // a body or answer may stand still so long
  std::size_t rate = 4096;                        // bytes a second of a body or answer, at least
  std::size_t stream = std::size_t{1}
                       << 20;  // bytes of an answer in parts that wait for its client
  std::chrono::milliseconds request_time{
      60'000};  // from a whole request to its answer, or its first part
  std::chrono::milliseconds drain_time{30'000};  // for what is under way when the server ends
};

}  // namespace limpid::serve
