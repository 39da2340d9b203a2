// The reading of JSON within limits.
#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/formats/detail/bounded_json.h"
#include "limpid/formats/in_quotes.h"

namespace limpid::detail {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kFormat, what); }

// Sees every value before it is stored.
template <class Json>
class Guard {
 public:
  explicit Guard(const JsonLimits& limits) : limits_(limits) {}

  bool operator()(int, typename Json::parse_event_t seen, const Json& value) {
    using Seen = typename Json::parse_event_t;
    switch (seen) {
      case Seen::object_start:
      case Seen::array_start:
        count();
        open_.emplace_back();
        if (open_.size() > limits_.depth)
          refuse(fmt::format("JSON is nested too deeply: at most {} levels are expected",
                             limits_.depth));
        break;
      case Seen::object_end:
      case Seen::array_end:
        open_.pop_back();
        break;
      case Seen::key:
        key(value.template get_ref<const std::string&>());
        break;
      case Seen::value:
        count();
        break;
    }
    return true;
  }

 private:
  void count() {
    if (++values_ > limits_.values)
      refuse(fmt::format("JSON holds more than {} values", limits_.values));
  }
  void key(const std::string& name) {
    if (!open_.back().insert(name).second)
      refuse(fmt::format("the key {} comes twice in an object", in_quotes(name)));
    if (open_.back().size() > limits_.members)
      refuse(fmt::format("an object of JSON has more than {} members", limits_.members));
  }

  const JsonLimits& limits_;
  std::vector<std::set<std::string>> open_;  // the keys of every open object; none of a list
  std::size_t values_ = 0;
};

template <class Json>
Json parse(std::string_view text, const JsonLimits& limits, bool throwing) {
  if (text.size() > limits.bytes)
    refuse(fmt::format("JSON has {} bytes, at most {} are expected", text.size(), limits.bytes));
  Guard<Json> guard(limits);
  return Json::parse(text, std::ref(guard), throwing);
}

}  // namespace

nlohmann::ordered_json parse_bounded_json(std::string_view text, bool throwing) {
  return parse<nlohmann::ordered_json>(text, {}, throwing);
}

nlohmann::json parse_sorted_json(std::string_view text, const JsonLimits& limits) {
  return parse<nlohmann::json>(text, limits, true);
}

}  // namespace limpid::detail
