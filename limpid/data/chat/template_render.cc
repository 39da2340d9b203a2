// Renders a chat template's tree with variables.
#include "limpid/data/chat/detail/template_render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <deque>
#include <iterator>
#include <utility>

#include "limpid/core/in_quotes.h"
#include "limpid/data/chat/detail/template_operations.h"

namespace limpid::detail {

struct TemplateFrame {
  TemplateFrame* outer = nullptr;
  std::vector<TemplateValue> slots = {};
};

// A loop's elements, filtered lazily by its condition.
struct TemplateLoop {
  const TemplateNode* node = nullptr;
  TemplateFrame* outer = nullptr;
  std::vector<TemplateValue> elements = {};
  std::size_t next = 0;                                // of the elements
  std::optional<TemplateValue> ahead = {};             // that was looked at before its turn
  std::optional<std::deque<TemplateValue>> rest = {};  // once the length was asked for
  std::int64_t index = -1;
  std::optional<std::int64_t> length = {};
};

namespace {

constexpr std::size_t kMostRendered = std::size_t{16} << 20;
constexpr std::size_t kDeepestCalls = 600;  // of nodes, macros' bodies among them
constexpr std::size_t kMostNamespaces = 1024;

// What transformers' and Jinja's environments define; those that are called are in call_global().
constexpr std::array<std::string_view, 8> kGlobals{
    "raise_exception", "namespace", "strftime_now", "range", "dict", "lipsum", "cycler", "joiner"};

class TemplateRenderer {
 public:
  TemplateRenderer(const std::string& source, const Json& variables)
      : work_(source), operations_(work_) {
    for (const Json::Member& member : variables.members())
      variables_.all.emplace_back(member.key, template_value(member.value));
  }

  std::string text_of(const TemplateNode& root) {
    TemplateFrame frame;
    begin(root, frame, root.scope);
    run(root, frame);
    return std::move(out_);
  }

 private:
  using Kind = TemplateNode::Kind;
  using Frame = TemplateFrame;
  using Value = TemplateValue;

  struct Deeper {
    Deeper(TemplateRenderer& renderer, const TemplateNode& node) : of(renderer) {
      if (++of.depth_ > kDeepestCalls)
        of.work_.refuse(node, "the macro calls are nested too deeply", ErrorCode::kUnsupported);
    }
    ~Deeper() { --of.depth_; }
    TemplateRenderer& of;
  };

  void write(const TemplateNode& node, std::string_view text) {
    if (out_.size() + text.size() > kMostRendered)
      work_.refuse(node, "the text is too long", ErrorCode::kUnsupported);
    // A macro's text becomes a value.
    if (in_macros_ > 0)
      work_.make(node, text.size());
    else
      work_.read(node, text.size());
    out_ += text;
  }

  // ---- frames

  static Value& at(Frame& frame, const TemplateRef& ref) {
    Frame* found = &frame;
    for (std::size_t up = ref.up; up > 0; --up) found = found->outer;
    return found->slots[ref.slot];
  }

  void begin(const TemplateNode& node, Frame& frame, const TemplateScope& scope) {
    work_.step(node, scope.size());
    frame.slots.assign(scope.size(), Value());
    for (std::size_t i = 0; i < scope.size(); ++i)
      if (scope[i].kind == TemplateLoad::Kind::kVariable)
        frame.slots[i] = variable(scope[i].name);
      else if (scope[i].kind == TemplateLoad::Kind::kOuter)
        frame.slots[i] = at(frame, scope[i].outer);
  }

  Value variable(const std::string& name) const {
    if (const Value* const found = variables_.find(name)) return *found;
    const auto* const global = std::find(kGlobals.begin(), kGlobals.end(), name);
    return global == kGlobals.end() ? Value() : Value(Value::Global{*global});
  }

  // ---- statements

  void run(const TemplateNode& node, Frame& frame) {
    const Deeper deeper(*this, node);
    work_.step(node);
    switch (node.kind) {
      case Kind::kData:
        return write(node, node.text);
      case Kind::kBlock:
        for (const auto& child : node.children) {
          run(*child, frame);
          if (leaving_ != Leaving::kNone) return;
        }
        return;
      case Kind::kBreak:
        leaving_ = Leaving::kLoop;
        return;
      case Kind::kContinue:
        leaving_ = Leaving::kTurn;
        return;
      case Kind::kOutput:
        return write(node, operations_.shown(node, evaluate(*node.children[0], frame)));
      case Kind::kSet:
        at(frame, node.ref) = operations_.kept(node, evaluate(*node.children[0], frame));
        return;
      case Kind::kSetMember:
        return set_member(node, frame);
      case Kind::kIf:
        return choose(node, frame);
      case Kind::kFor:
        return loop(node, frame);
      case Kind::kMacro:
        at(frame, node.ref) = Value::Macro{&node, &frame};
        return;
      default:
        work_.refuse(node, "expected a statement");
    }
  }

  void set_member(const TemplateNode& node, Frame& frame) {
    TemplateNamespace* const space = at(frame, node.ref).name_space();
    if (!space) work_.refuse(node, fmt::format("{} is not a namespace", in_quotes(node.names[0])));
    Value value = operations_.kept(node, evaluate(*node.children[0], frame));
    work_.step(node, space->members.all.size() / 32);
    work_.make(node, node.text.size());
    space->members.set(node.text, std::move(value));
  }

  void choose(const TemplateNode& node, Frame& frame) {
    std::size_t i = 0;
    for (; i + 1 < node.children.size(); i += 2)
      if (operations_.is_true(evaluate(*node.children[i], frame)))
        return run(*node.children[i + 1], frame);
    if (i < node.children.size()) run(*node.children[i], frame);
  }

  void loop(const TemplateNode& node, Frame& outer) {
    TemplateLoop loop{.node = &node, .outer = &outer};
    loop.elements = operations_.elements(node, evaluate(*node.children[0], outer));
    while (std::optional<Value> element = take(loop)) {
      work_.step(node);
      ++loop.index;
      Frame frame{.outer = &outer};
      begin(node, frame, node.scope);
      unpack(node, *element, frame);
      frame.slots[node.slots.back()] = Value(&loop);
      run(*node.children[1], frame);
      if (std::exchange(leaving_, Leaving::kNone) == Leaving::kLoop) return;
    }
  }

  void unpack(const TemplateNode& node, const Value& element, Frame& frame) {
    if (node.names.size() == 1) {
      frame.slots[node.slots[0]] = operations_.kept(node, element);
      return;
    }
    const std::vector<Value> parts = operations_.elements(node, element);
    if (parts.size() != node.names.size())
      work_.refuse(node, fmt::format("for: expected {} values in an element, got {}",
                                     node.names.size(), parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) frame.slots[node.slots[i]] = parts[i];
  }

  // The next element that passes the condition, ignoring one that was read ahead.
  std::optional<Value> find_next(TemplateLoop& loop) {
    while (loop.next < loop.elements.size()) {
      const Value element = loop.elements[loop.next++];
      if (loop.node->children.size() < 3) return element;
      Frame frame{.outer = loop.outer};
      begin(*loop.node, frame, loop.node->test_scope);
      unpack(*loop.node, element, frame);
      if (operations_.is_true(evaluate(*loop.node->children[2], frame))) return element;
    }
    return std::nullopt;
  }

  std::optional<Value> take_rest(TemplateLoop& loop) {
    if (!loop.rest) return find_next(loop);
    if (loop.rest->empty()) return std::nullopt;
    std::optional<Value> element = std::move(loop.rest->front());
    loop.rest->pop_front();
    return element;
  }

  std::optional<Value> take(TemplateLoop& loop) {
    return loop.ahead ? std::exchange(loop.ahead, std::nullopt) : take_rest(loop);
  }

  // An attribute of a loop, as Jinja's LoopContext has it.
  Value of_loop(const TemplateNode& node, TemplateLoop& loop) {
    const std::string& name = node.text;
    if (name == "index0") return loop.index;
    if (name == "index") return loop.index + 1;
    if (name == "first") return loop.index == 0;
    if (name == "last") {
      if (!loop.ahead) loop.ahead = take_rest(loop);
      return !loop.ahead;
    }
    if (name != "length")
      work_.refuse_construct(node, fmt::format("the attribute {}", in_quotes(name)));
    if (loop.node->children.size() < 3) return static_cast<std::int64_t>(loop.elements.size());
    if (!loop.length) {
      std::deque<Value> rest;
      while (std::optional<Value> element = take_rest(loop)) rest.push_back(std::move(*element));
      loop.length = static_cast<std::int64_t>(rest.size()) + loop.index + 1 + (loop.ahead ? 1 : 0);
      loop.rest = std::move(rest);
    }
    return *loop.length;
  }

  // ---- expressions

  Value evaluate(const TemplateNode& node, Frame& frame) {
    const Deeper deeper(*this, node);
    work_.step(node);
    const auto child = [&](std::size_t i) { return evaluate(*node.children[i], frame); };
    switch (node.kind) {
      case Kind::kConstant:
        return constant(node);
      case Kind::kNothing:
        return {};
      case Kind::kName:
        return named(node, frame);
      case Kind::kMember:
        return member(node, frame);
      case Kind::kIndex: {
        const Value of = child(0);
        return operations_.element(node, of, child(1));
      }
      case Kind::kSlice: {
        const Value of = child(0), from = child(1), to = child(2);
        return operations_.slice(node, of, from, to, child(3));
      }
      case Kind::kList:
        return operations_.list(node, TemplateSequence::Kind::kList, children(node, frame));
      case Kind::kTuple:
        return operations_.list(node, TemplateSequence::Kind::kTuple, children(node, frame));
      case Kind::kDictionary:
        return operations_.dictionary(node, children(node, frame));
      case Kind::kNot:
        return !operations_.is_true(child(0));
      case Kind::kBinary:
        return binary(node, frame);
      case Kind::kCondition:
        return operations_.is_true(child(0)) ? child(1) : child(2);
      case Kind::kFilter: {
        const Value value = child(0);
        return operations_.filter(node, value, arguments(node, frame));
      }
      case Kind::kTest:
        return test(node, frame);
      case Kind::kCall:
        return call(node, frame);
      default:
        work_.refuse(node, "expected an expression");
    }
  }

  Value constant(const TemplateNode& node) {
    switch (node.constant) {
      case TemplateNode::Constant::kNone:
        return Value::None{};
      case TemplateNode::Constant::kFalse:
        return false;
      case TemplateNode::Constant::kTrue:
        return true;
      case TemplateNode::Constant::kInteger:
        return node.integer;
      case TemplateNode::Constant::kText:
        work_.make(node, node.text.size());
        return node.text;
    }
    return {};
  }

  std::vector<Value> children(const TemplateNode& node, Frame& frame) {
    std::vector<Value> all;
    for (const auto& child : node.children)
      all.push_back(operations_.kept(*child, evaluate(*child, frame)));
    return all;
  }

  // All children but the first.
  TemplateArguments arguments(const TemplateNode& node, Frame& frame) {
    TemplateArguments all;
    const std::size_t named = node.children.size() - node.names.size();
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      Value value = operations_.kept(*node.children[i], evaluate(*node.children[i], frame));
      if (i < named)
        all.values.push_back(std::move(value));
      else
        all.named.emplace_back(node.names[i - named], std::move(value));
    }
    return all;
  }

  // Macros, loops and functions can be called or read, but not stored.
  Value named(const TemplateNode& node, Frame& frame) const {
    const Value& value = at(frame, node.ref);
    if (value.macro() || value.global() || value.loop())
      work_.refuse_construct(node, fmt::format("{} as a value", in_quotes(node.text)));
    return value;
  }

  TemplateLoop* loop_of(const TemplateNode& node, Frame& frame) const {
    return node.kind == Kind::kName ? at(frame, node.ref).loop() : nullptr;
  }

  Value member(const TemplateNode& node, Frame& frame) {
    if (TemplateLoop* const loop = loop_of(*node.children[0], frame)) return of_loop(node, *loop);
    return operations_.member(node, evaluate(*node.children[0], frame), node.text);
  }

  Value binary(const TemplateNode& node, Frame& frame) {
    Value a = evaluate(*node.children[0], frame);
    if (node.text == "and" && !operations_.is_true(a)) return a;
    if (node.text == "or" && operations_.is_true(a)) return a;
    Value b = evaluate(*node.children[1], frame);
    if (node.text == "and" || node.text == "or") return b;
    return operations_.binary(node, node.text, a, b);
  }

  Value test(const TemplateNode& node, Frame& frame) {
    const TemplateNode& of = *node.children[0];
    const bool of_any = node.text == "defined" || node.text == "undefined";
    const Value value = of_any && of.kind == Kind::kName ? at(frame, of.ref) : evaluate(of, frame);
    return operations_.test(node, node.text, value, arguments(node, frame));
  }

  // ---- calls

  Value call(const TemplateNode& node, Frame& frame) {
    const TemplateNode& callee = *node.children[0];
    if (callee.kind == Kind::kMember) {
      if (loop_of(*callee.children[0], frame))
        work_.refuse_construct(callee, fmt::format("the method {}", in_quotes(callee.text)));
      const Value of = evaluate(*callee.children[0], frame);
      return operations_.method(callee, of, callee.text, arguments(node, frame));
    }
    const Value function = at(frame, callee.ref);
    const TemplateArguments given = arguments(node, frame);
    if (function.macro()) return call_macro(node, *function.macro(), given);
    if (function.global()) return call_global(node, function.global()->name, given);
    if (function.is_undefined())
      work_.refuse_construct(node, fmt::format("the function {}", in_quotes(callee.text)));
    work_.refuse(node, fmt::format("{} is not a function", in_quotes(callee.text)));
  }

  Value call_macro(const TemplateNode& node, const Value::Macro& macro,
                   const TemplateArguments& given) {
    const TemplateNode& definition = *macro.node;
    const std::vector<std::string>& names = definition.names;
    if (given.values.size() > names.size())
      work_.refuse(node,
                   fmt::format("macro {}: expected at most {} arguments, got {}",
                               in_quotes(definition.text), names.size(), given.values.size()));
    Frame frame{.outer = macro.frame};
    begin(node, frame, definition.scope);
    std::vector<bool> has(names.size());
    const auto set = [&](std::size_t i, const Value& value) {
      frame.slots[definition.slots[i]] = value;
      has[i] = true;
    };
    for (std::size_t i = 0; i < given.values.size(); ++i) set(i, given.values[i]);
    for (const auto& [name, value] : given.named) {
      work_.step(node, 1 + names.size() / 32);
      const auto found = std::find(names.begin(), names.end(), name);
      const auto i = static_cast<std::size_t>(found - names.begin());
      if (i == names.size() || has[i])
        work_.refuse(node, fmt::format("macro {}: unexpected argument {}",
                                       in_quotes(definition.text), in_quotes(name)));
      set(i, value);
    }
    const std::size_t defaults = definition.children.size() - 1;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!has[i] && i + defaults >= names.size()) {
        const TemplateNode& value = *definition.children[1 + i + defaults - names.size()];
        set(i, operations_.kept(value, evaluate(value, frame)));
      }
    return written(*definition.children[0], frame);
  }

  // What a macro's body writes.
  Value written(const TemplateNode& body, Frame& frame) {
    std::string outside;
    outside.swap(out_);
    ++in_macros_;
    run(body, frame);
    --in_macros_;
    outside.swap(out_);
    return outside;
  }

  Value call_global(const TemplateNode& node, std::string_view name,
                    const TemplateArguments& given) {
    const bool one = given.values.size() == 1 && given.named.empty();
    if (name == "raise_exception" && one)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("chat template: {}", operations_.shown(node, given.values[0])));
    if (name == "namespace" && given.values.size() <= 1) return make_namespace(node, given);
    if (name == "strftime_now" && one && given.values[0].text())
      return date(node, *given.values[0].text());
    work_.refuse_construct(
        node, fmt::format("the function {}{}", in_quotes(name),
                          name == "raise_exception" || name == "namespace" || name == "strftime_now"
                              ? " with these arguments"
                              : ""));
  }

  // The local date and time in Python's format, with the names of the C locale.
  Value date(const TemplateNode& node, const std::string& format) {
    constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                          "Thursday", "Friday", "Saturday"};
    constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                            "May",       "June",     "July",     "August",
                                            "September", "October",  "November", "December"};
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    const auto two = [](int number) { return fmt::format("{:02}", number); };
    const std::string_view day = kDays[local.tm_wday], month = kMonths[local.tm_mon];
    const int hour = local.tm_hour % 12 == 0 ? 12 : local.tm_hour % 12;
    const std::pair<char, std::string> fields[] = {{'Y', fmt::format("{}", local.tm_year + 1900)},
                                                   {'y', two(local.tm_year % 100)},
                                                   {'m', two(local.tm_mon + 1)},
                                                   {'d', two(local.tm_mday)},
                                                   {'H', two(local.tm_hour)},
                                                   {'I', two(hour)},
                                                   {'M', two(local.tm_min)},
                                                   {'S', two(local.tm_sec)},
                                                   {'p', local.tm_hour < 12 ? "AM" : "PM"},
                                                   {'j', fmt::format("{:03}", local.tm_yday + 1)},
                                                   {'A', std::string(day)},
                                                   {'a', std::string(day.substr(0, 3))},
                                                   {'B', std::string(month)},
                                                   {'b', std::string(month.substr(0, 3))},
                                                   {'%', "%"}};
    std::string text;
    work_.read(node, format.size());
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        text += format[i];
        continue;
      }
      const char which = ++i < format.size() ? format[i] : '\0';
      const auto* const found =
          std::find_if(std::begin(fields), std::end(fields),
                       [&](const auto& field) { return field.first == which; });
      if (found == std::end(fields))
        work_.refuse_construct(node, fmt::format("the format {} of a date", in_quotes(format)));
      text += found->second;
    }
    work_.make(node, text.size());
    return text;
  }

  Value make_namespace(const TemplateNode& node, const TemplateArguments& given) {
    TemplateMembers members;
    if (!given.values.empty()) {
      if (!given.values[0].dictionary())
        work_.refuse_construct(node, "a namespace of something other than a dictionary");
      for (const auto& [key, value] : given.values[0].dictionary()->members.all) {
        work_.step(node);
        work_.make(node, key.size());
        members.all.emplace_back(key, value);
      }
    }
    for (const auto& [key, value] : given.named) {
      work_.step(node, 1 + members.all.size() / 32);
      members.set(key, value);
    }
    if (namespaces_.size() >= kMostNamespaces) work_.refuse_construct(node, "this many namespaces");
    namespaces_.push_back({std::move(members)});
    return Value(&namespaces_.back());
  }

  TemplateWork work_;
  TemplateOperations operations_;
  TemplateMembers variables_;
  std::deque<TemplateNamespace> namespaces_;  // one that is in another's members is no cycle
  std::string out_;
  std::size_t depth_ = 0, in_macros_ = 0;
  // What a break or a continue ends.
  enum class Leaving : std::uint8_t { kNone, kTurn, kLoop };
  Leaving leaving_ = Leaving::kNone;
};

}  // namespace

std::string render_template(const TemplateNode& root, const std::string& source,
                            const Json& variables) {
  return TemplateRenderer(source, variables).text_of(root);
}

}  // namespace limpid::detail
