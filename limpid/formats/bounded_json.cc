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

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kFormat, what); }

// Sees every value before it is stored.
class Guard {
 public:
  bool operator()(int, Json::parse_event_t seen, const Json& value) {
    using Seen = Json::parse_event_t;
    switch (seen) {
      case Seen::object_start:
      case Seen::array_start:
        count();
        open_.emplace_back();
        if (open_.size() > kMaxJsonDepth)
          refuse(fmt::format("JSON is nested too deeply: at most {} levels are expected",
                             kMaxJsonDepth));
        break;
      case Seen::object_end:
      case Seen::array_end:
        open_.pop_back();
        break;
      case Seen::key:
        key(value.get_ref<const std::string&>());
        break;
      case Seen::value:
        count();
        break;
    }
    return true;
  }

 private:
  void count() {
    if (++values_ > kMaxJsonValues)
      refuse(fmt::format("JSON holds more than {} values", kMaxJsonValues));
  }
  void key(const std::string& name) {
    if (!open_.back().insert(name).second)
      refuse(fmt::format("the key {} comes twice in an object", in_quotes(name)));
    if (open_.back().size() > kMaxJsonMembers)
      refuse(fmt::format("an object of JSON has more than {} members", kMaxJsonMembers));
  }

  std::vector<std::set<std::string>> open_;  // the keys of every open object; none of a list
  std::size_t values_ = 0;
};

}  // namespace

Json parse_bounded_json(std::string_view text, bool throwing) {
  if (text.size() > kMaxJsonBytes)
    refuse(fmt::format("JSON has {} bytes, at most {} are expected", text.size(), kMaxJsonBytes));
  Guard guard;
  return Json::parse(text, std::ref(guard), throwing);
}

}  // namespace limpid::detail
