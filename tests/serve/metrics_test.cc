#include "limpid/serve/metrics.h"

#include <gtest/gtest.h>

#include "limpid/core/error.h"
#include "limpid/serve/receipt.h"

namespace limpid::serve {
namespace {

TEST(Histogram, CountsWhatIsAtMostEachBound) {
  Histogram histogram({1, 2.5});
  for (const double value : {0.5, 1.0, 1.5, 99.0}) histogram.observe(value);
  std::string text;
  histogram.write(text, "h", "");
  EXPECT_EQ(text,
            "h_bucket{le=\"1\"} 2\nh_bucket{le=\"2.5\"} 3\nh_bucket{le=\"+Inf\"} 4\n"
            "h_sum 102\nh_count 4\n");
}

void expect_lines(const std::string& text, std::initializer_list<const char*> lines) {
  for (const char* const line : lines)
    EXPECT_NE(text.find("\n" + std::string(line) + "\n"), std::string::npos) << line << text;
}

TEST(Metrics, LabelsAreQuoted) {
  const std::string name = "a\"b\\c\nd";
  Metrics metrics;
  metrics.request({.model = name}, 200, 1);
  const std::string text =
      metrics.text({.model_bytes = {{name, 6}}, .languages = {{name, {7, 8, 9}}}});
  expect_lines(text, {R"(limpid_requests_total{model="a\"b\\c\nd",code="200"} 1)",
                      R"(limpid_request_seconds_count{model="a\"b\\c\nd"} 1)",
                      R"(limpid_tokens_total{model="a\"b\\c\nd"} 0)",
                      R"(limpid_texts{model="a\"b\\c\nd"} 8)",
                      R"(limpid_model_bytes{model="a\"b\\c\nd"} 6)"});
}

// What is refused takes no time, and would make the others look fast.
TEST(Metrics, TimesAreThoseOfRequestsThatWereServed) {
  Metrics metrics;
  metrics.request({.model = "m"}, 200, 4);
  metrics.request({.model = "m"}, 400, 1);
  metrics.request({}, 200, 1);
  const std::string text = metrics.text({});
  expect_lines(text, {R"(limpid_requests_total{model="m",code="200"} 1)",
                      R"(limpid_requests_total{model="m",code="400"} 1)",
                      R"(limpid_requests_total{model="",code="200"} 1)",
                      R"(limpid_request_seconds_sum{model="m"} 4)",
                      R"(limpid_request_seconds_count{model="m"} 1)"});
  EXPECT_EQ(text.find("limpid_request_seconds_count{model=\"\"}"), std::string::npos) << text;
}

// Three tokens have two pauses between them.
TEST(Metrics, ATokensTimeIsThatBetweenTwo) {
  Metrics metrics;
  metrics.text("m", {.tokens = 3, .first_token_seconds = 5, .further_tokens_seconds = 4});
  metrics.text("m", {.tokens = 1, .first_token_seconds = 5});
  const std::string text = metrics.text({});
  expect_lines(text, {"limpid_token_seconds_sum{model=\"m\"} 2",
                      "limpid_token_seconds_count{model=\"m\"} 1"});
}

TEST(Metrics, ATextWithoutTokensHasNoTime) {
  Metrics metrics;
  metrics.text("m", {.prompt_tokens = 5, .tokens = 0, .first_token_seconds = 1e9});
  metrics.text("m", {.prompt_tokens = 6, .tokens = 1, .first_token_seconds = 2});
  const std::string text = metrics.text({});
  expect_lines(text,
               {"limpid_first_token_seconds_sum{model=\"m\"} 2",
                "limpid_first_token_seconds_count{model=\"m\"} 1",
                "limpid_prompt_tokens_total{model=\"m\"} 11", "limpid_tokens_total{model=\"m\"} 1",
                "# TYPE limpid_tokens_total counter", "# TYPE limpid_token_seconds histogram"});
}

TEST(Metrics, EachGaugeHasItsNumber) {
  const std::string text = Metrics().text({.connections = 1,
                                           .body_bytes = 2,
                                           .answer_bytes = 3,
                                           .queue = 4,
                                           .log_lines_lost = 5,
                                           .model_bytes = {{"m", 6}},
                                           .languages = {{"m", {7, 8, 9}}}});
  expect_lines(text, {"limpid_connections 1", "limpid_body_bytes 2", "limpid_answer_bytes 3",
                      "limpid_queue_length 4", "limpid_log_lines_lost 5",
                      "limpid_model_bytes{model=\"m\"} 6", "limpid_cache_bytes{model=\"m\"} 7",
                      "limpid_texts{model=\"m\"} 8", "limpid_text_places{model=\"m\"} 9",
                      "# TYPE limpid_connections gauge"});
}

// Quantiles that dashboards compute from them change with the bounds.
TEST(Metrics, TimesAndRowsHaveTheirBounds) {
  Metrics metrics;
  metrics.request({.model = "m"}, 200, 3e-5);
  metrics.batch("m", 16);
  const std::string text = metrics.text({});
  expect_lines(text, {"limpid_request_seconds_bucket{model=\"m\",le=\"1e-05\"} 0",
                      "limpid_request_seconds_bucket{model=\"m\",le=\"2.5e-05\"} 0",
                      "limpid_request_seconds_bucket{model=\"m\",le=\"5e-05\"} 1",
                      "limpid_request_seconds_bucket{model=\"m\",le=\"50\"} 1",
                      "limpid_batch_rows_bucket{model=\"m\",le=\"8\"} 0",
                      "limpid_batch_rows_bucket{model=\"m\",le=\"16\"} 1",
                      "limpid_batch_rows_bucket{model=\"m\",le=\"1024\"} 1"});
  const auto bounds = [&](const std::string& name) {
    const std::string before = name + "_bucket{model=\"m\",le=\"";
    std::string all;
    for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
      at += before.size();
      all += text.substr(at, text.find('"', at) - at) + " ";
    }
    return all;
  };
  EXPECT_EQ(bounds("limpid_batch_rows"), "1 2 4 8 16 32 64 128 256 512 1024 +Inf ");
  EXPECT_EQ(bounds("limpid_request_seconds"),
            "1e-05 2.5e-05 5e-05 0.0001 0.00025 0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 "
            "0.5 1 2.5 5 10 25 50 +Inf ");
}

TEST(Metrics, WaitingAndComputingAreTimedApart) {
  Metrics metrics;
  metrics.request({.model = "m", .queue_seconds = 1, .compute_seconds = 2}, 200, 4);
  const std::string text = metrics.text({});
  expect_lines(
      text, {"limpid_request_seconds_sum{model=\"m\"} 4", "limpid_queue_seconds_sum{model=\"m\"} 1",
             "limpid_compute_seconds_sum{model=\"m\"} 2"});
}

TEST(Receipt, ReadsBack) {
  const Receipt receipt{.model = 1, .input = 0xfedcba9876543210, .output = ~std::uint64_t{0}};
  EXPECT_EQ(to_text(receipt),
            "model=0000000000000001; input=fedcba9876543210; output=ffffffffffffffff");
  EXPECT_EQ(parse_receipt(to_text(receipt)), receipt);
  for (const std::string& text :
       {std::string(), std::string("model="), to_text(receipt) + " ", to_text(receipt).substr(1),
        "model=000000000000000g" + to_text(receipt).substr(22),
        "modex" + to_text(receipt).substr(5), to_text(receipt).substr(0, 69),
        to_text(receipt).replace(22, 9, "; inputs=")})
    EXPECT_THROW(parse_receipt(text), Error) << text;
}

}  // namespace
}  // namespace limpid::serve
