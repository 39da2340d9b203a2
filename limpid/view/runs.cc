#include "limpid/view/runs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/stop_check.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/optim/schedule.h"
#include "limpid/train/log/detail/event_json.h"
#include "limpid/train/run/checkpoint.h"
#include "limpid/train/run/run_setup.h"
#include "limpid/view/numbers.h"
#include "limpid/view/stoppable_lock.h"

namespace limpid::view {
namespace {

namespace fs = std::filesystem;

// A cursor counts the files that the log has been (a new one after an overwrite), and bytes read.
constexpr std::int64_t kOffsets = std::int64_t{1} << 40;

// ---- a log as a file

struct FileNow {
  ino_t file = 0;
  std::int64_t size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  // of the last change

  bool operator==(const FileNow&) const = default;
};
std::optional<FileNow> file_now(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  return FileNow{found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

// Bytes [from, to) of a file; fewer if it became shorter.
std::string part_of_file(const fs::path& path, std::int64_t from, std::int64_t to) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(from);
  std::string text(static_cast<std::size_t>(std::max<std::int64_t>(0, to - from)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

// The complete lines of a text, and their length in bytes.
std::vector<std::string_view> lines_of(std::string_view text, std::size_t& bytes) {
  std::vector<std::string_view> lines;
  bytes = 0;
  for (std::size_t end; (end = text.find('\n', bytes)) != std::string_view::npos; bytes = end + 1)
    lines.push_back(text.substr(bytes, end - bytes));
  return lines;
}

// Calls f for each complete line in bytes [from, to) of a file; returns their total length. Reads
// in pieces, so that a long log is never in memory as a whole.
template <class Each>
std::int64_t each_line(const fs::path& path, std::int64_t from, std::int64_t to, const Each& each) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  std::ifstream file(path, std::ios::binary);
  file.seekg(from);
  std::string buffer;  // starts with the incomplete line at the end of the last piece
  std::int64_t whole = 0;
  while (from < to) {
    throw_if_stopped();
    const std::size_t rest = buffer.size();
    buffer.resize(rest + static_cast<std::size_t>(std::min(kPiece, to - from)));
    file.read(buffer.data() + rest, static_cast<std::streamsize>(buffer.size() - rest));
    const std::streamsize got = file.gcount();
    if (got <= 0) break;  // the file has become shorter
    buffer.resize(rest + static_cast<std::size_t>(got));
    from += got;
    const std::string_view text = buffer;
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n', rest); end != std::string_view::npos;
         end = text.find('\n', begin)) {
      each(text.substr(begin, end - begin));
      begin = end + 1;
    }
    whole += static_cast<std::int64_t>(begin);
    buffer.erase(0, begin);
  }
  return whole;
}

std::string event_name(const Json& line) {
  const Json* const name = line.find("event");
  return name && name->is_string() ? name->as_string() : "";
}

// Parses a step as to_json_line() writes it. This is faster than parsing JSON, and a log may have
// millions of steps. Returns nullopt for any other line, which is then parsed as JSON.
std::optional<train::StepEvent> plain_step(std::string_view line) {
  const auto read = [&](std::string_view before, auto& number) {
    if (!line.starts_with(before)) return false;
    line.remove_prefix(before.size());
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc{}) return false;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    return true;
  };
  train::StepEvent step;
  const bool whole = read(R"({"event":"step","step":)", step.step) &&
                     read(R"(,"epoch":)", step.epoch) && read(R"(,"loss":)", step.loss) &&
                     read(R"(,"learning_rate":)", step.learning_rate) &&
                     read(R"(,"gradient_norm":)", step.gradient_norm) && line == "}";
  return whole ? std::optional(step) : std::nullopt;
}

// The parsed part of a log. Epochs, probes and samples stay text until their number is known: most
// of those in a long log are not shown, and to parse them would take most of the time.
struct Gathered {
  LogDelta& delta;
  std::vector<std::string> epochs = {}, probes = {}, samples = {};

  // The list that keeps the lines of such an event as text; null for other events.
  std::vector<std::string>* texts_of(std::string_view event) {
    if (event == "epoch") return &epochs;
    if (event == "probe") return &probes;
    if (event == "sample") return &samples;
    return nullptr;
  }
};

// The event at the start of a line that to_json_line() wrote; empty for any other line.
std::string_view plain_event(std::string_view line) {
  constexpr std::string_view kBefore = R"({"event":")";
  if (!line.starts_with(kBefore)) return {};
  line.remove_prefix(kBefore.size());
  const std::size_t end = line.find('"');
  return end == std::string_view::npos ? std::string_view() : line.substr(0, end);
}

// What the page must know of a log at any time. Each byte of the log is read once: a log that did
// not change is not opened, and of one that has grown the new lines are read. Thread-safe.
class LogFacts {
 public:
  explicit LogFacts(fs::path log) : log_(std::move(log)) {}

  struct Ending {
    std::optional<std::string> reason = {};  // why the run ended, if the last event is an end
    std::int64_t step = 0;                   // steps done
    std::string task = {};                   // in the first event; may be empty
  };
  Ending ending() {
    const std::lock_guard lock(mutex_);
    constexpr std::int64_t kTail = std::int64_t{1} << 20;
    const auto now = file_now(log_);
    if (now == seen_) return ending_;
    if (is_another(seen_ ? std::optional(seen_->file) : std::nullopt, now, read_)) {
      ending_ = {};
      read_ = 0;
    }
    seen_ = now;
    if (!now) return ending_;
    if (read_ == 0) ending_.task = first_task(std::min(kTail, now->size));
    // Of a long log that nobody has followed, the end is enough. It begins inside a line.
    const std::int64_t begin = std::max(read_, now->size - kTail);
    const std::string text = part_of_file(log_, begin, now->size);
    std::size_t bytes = 0;
    const auto lines = lines_of(text, bytes);
    read_ = begin + static_cast<std::int64_t>(bytes);
    if (!lines.empty()) take(lines);
    return ending_;
  }

  // The steps done when the run was last made longer; 0 if it never was.
  std::int64_t extension() {
    const std::lock_guard lock(mutex_);
    const auto now = file_now(log_);
    if (is_another(file_, now, searched_)) {
      extension_ = 0;
      searched_ = 0;
    }
    file_ = now ? std::optional(now->file) : std::nullopt;
    if (!now) return 0;
    searched_ += each_line(log_, searched_, now->size, [&](std::string_view line) {
      if (plain_event(line) != "resume") return;
      const std::optional<Json> event = Json::try_parse(line);
      const Json* const done = event ? event->find("step") : nullptr;
      // A run that goes on with the same length logs no command.
      if (done && done->is_small_integer() && event->find("command"))
        extension_ = done->as_integer();
    });
    return extension_;
  }

 private:
  // Whether the log is not the file of which so many bytes were read.
  static bool is_another(const std::optional<ino_t>& before, const std::optional<FileNow>& now,
                         std::int64_t read) {
    return !now || before != now->file || now->size < read;
  }
  std::string first_task(std::int64_t bytes) const {
    const std::string text = part_of_file(log_, 0, bytes);
    const std::optional<Json> first = Json::try_parse(text.substr(0, text.find('\n')));
    const Json* const task = first ? first->find("task") : nullptr;
    return task && task->is_string() ? task->as_string() : "";
  }
  void take(const std::vector<std::string_view>& lines) {
    const std::optional<Json> last = Json::try_parse(lines.back());
    ending_.reason.reset();
    if (last && event_name(*last) == "end") {
      const Json* const reason = last->find("reason");
      ending_.reason = reason && reason->is_string() ? reason->as_string() : "";
    }
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
      const std::optional<Json> event = Json::try_parse(*line);
      const Json* const step = event ? event->find("step") : nullptr;
      if (!step || !step->is_small_integer()) continue;
      // A probe describes the next step.
      ending_.step = step->as_integer() + (event_name(*event) == "probe" ? 1 : 0);
      return;
    }
  }

  const fs::path log_;
  std::mutex mutex_;
  // The log when its end was read, up to which byte, and what it said.
  std::optional<FileNow> seen_;
  std::int64_t read_ = 0;
  Ending ending_;
  // The log when it was last searched for extensions, up to which byte, and the last one.
  std::optional<ino_t> file_;
  std::int64_t searched_ = 0, extension_ = 0;
};

// Adds one line of a log.
void add_line(std::string_view text, Gathered& gathered) {
  LogDelta& delta = gathered.delta;
  if (const std::optional<train::StepEvent> step = plain_step(text)) {
    delta.steps.push_back(*step);
    return;
  }
  if (auto* const texts = gathered.texts_of(plain_event(text))) {
    texts->emplace_back(text);
    return;
  }
  std::optional<Json> line = Json::try_parse(text);
  if (!line) return;  // incomplete: its process ended
  const std::string event = event_name(*line);
  if (event == "step") {
    try {
      if (const auto parsed = train::detail::parse_event(text))
        if (const auto* step = std::get_if<train::StepEvent>(&*parsed))
          delta.steps.push_back(*step);
    } catch (const Error&) {  // skipped, as the log's other readers do with a broken line
    }
    return;
  }
  if (auto* const texts = gathered.texts_of(event)) texts->emplace_back(text);
  if (event == "run") delta.begun = std::move(*line);
  if (event == "finding") delta.findings.push_back(std::move(*line));
  if (event == "end") delta.end = std::move(*line);
  if (event == "resume") delta.end.reset();
}

// At most `most` of the lines as JSON, evenly spaced, with the first and the last. Leaves out
// incomplete lines.
std::vector<Json> some_of(const std::vector<std::string>& lines, std::size_t most) {
  const std::size_t count = std::min(lines.size(), most);
  std::vector<Json> kept;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = count > 1 ? i * (lines.size() - 1) / (count - 1) : 0;
    if (std::optional<Json> line = Json::try_parse(lines[at])) kept.push_back(std::move(*line));
  }
  return kept;
}

// ---- configurations

void flatten(const std::string& path, const Json& value, std::map<std::string, Json>& out) {
  if (!value.is_object()) {
    out[path] = value;
    return;
  }
  for (const Json::Member& m : value.members())
    flatten(path.empty() ? m.key : path + "." + m.key, m.value, out);
}

// A folder without the separators that a shell's completion leaves at its end: it has a name.
fs::path named(const fs::path& folder) {
  if (folder.has_filename() && folder.filename() != "." && folder.filename() != "..") return folder;
  return fs::absolute(folder).lexically_normal().parent_path();
}

std::size_t bytes_of_state(const train::TrainState& state) {
  std::size_t bytes = 0;
  for (const Params* group : {&state.params, &state.non_trainable, &state.optimizer, &state.best})
    for (const auto& [name, tensor] : *group) bytes += tensor.type().bytes();
  return bytes;
}

}  // namespace

// ---- computing steps again

// Recomputes any step of a run, and keeps some of the states on the way.
class Runs::Replayed {
 public:
  // A run made longer after `extended` steps had another learning rate in them, if that depends on
  // the length: then only a checkpoint of a later state is one to start from.
  Replayed(const train::TrainConfig& config, std::int64_t extended, ThreadPool& pool)
      : setup_(config, train::load_data(config)),
        trainer_(setup_.problem, setup_.data, train::options_of(setup_.config, setup_.data), &pool),
        data_hash_(setup_.data_hash(&pool)) {
    if (extended == 0 || !decays_to_the_end()) keep(trainer_.state());
  }

  std::int64_t steps() const { return trainer_.steps(); }
  bool owns(const train::Checkpoint& checkpoint) const {
    return train::is_same_run(checkpoint.run, setup_.config, data_hash_, "checkpoint");
  }
  // A state of the run; skipped if it does not fit.
  void offer(const train::TrainState& state) {
    try {
      trainer_.restore(state);
      keep(state);
    } catch (const Error&) {
    }
  }

  // Whether a state at or before `step` is known.
  bool reaches(std::int64_t step) const {
    return !states_.empty() && states_.begin()->first <= step;
  }

  struct Moved {
    std::int64_t from = 0;
    std::optional<double> loss = {};
  };
  Moved go(std::int64_t step) {
    auto nearest = states_.upper_bound(step);
    trainer_.restore((--nearest)->second);
    Moved moved{.from = nearest->first};
    while (trainer_.steps_done() < step && trainer_.ending() == train::Ending::kNone) {
      throw_if_stopped();
      const StopScope whole(nullptr);
      moved.loss = trainer_.step().step.loss;
    }
    keep(trainer_.state());
    return moved;
  }
  std::int64_t now() const { return trainer_.steps_done(); }
  const train::TrainState& state() const { return states_.at(now()); }
  Model model() const {
    const train::TrainState& s = state();
    Params params;
    const auto& inputs = setup_.problem.inference.inputs();
    for (auto input = inputs.begin(); input != inputs.end() - 1; ++input) {
      const Tensor* const trained = s.params.find(input->name);
      params.set(input->name, trained ? *trained : s.non_trainable.at(input->name));
    }
    return setup_.problem.model(params, setup_.model_config());
  }

 private:
  bool decays_to_the_end() const {
    using Kind = optim::Schedule::Kind;
    const Kind kind = from_name<optim::Schedule::Kind>(*setup_.config.schedule);
    return kind == Kind::kLinear || kind == Kind::kCosine;
  }
  void keep(const train::TrainState& state) {
    constexpr std::size_t kMostStates = 32, kMostBytes = std::size_t{512} << 20;
    states_.insert_or_assign(state.step, state);
    const std::size_t each = std::max<std::size_t>(1, bytes_of_state(state));
    const std::size_t most = std::clamp<std::size_t>(kMostBytes / each, 2, kMostStates);
    // The first one stays; of the others, the one closest to its neighbours is dropped.
    while (states_.size() > most) {
      auto victim = std::next(states_.begin());
      std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
      for (auto at = std::next(states_.begin()); at != states_.end(); ++at) {
        const std::int64_t gap = at->first - std::prev(at)->first;
        if (gap < smallest && at->first != state.step) smallest = gap, victim = at;
      }
      states_.erase(victim);
    }
  }

  train::RunSetup setup_;
  train::Trainer trainer_;
  std::uint64_t data_hash_;
  std::map<std::int64_t, train::TrainState> states_;
};

// ---- the runs of a session

struct Runs::Entry {
  std::string id;
  train::RunFolder folder;

  // If the run trains in this process:
  std::unique_ptr<train::Run> run = {};
  std::thread thread = {};
  std::atomic<bool> stop = false;
  std::atomic<bool> running = false;
  std::atomic<bool> paused = false;  // whether the requested stop is a pause
  std::mutex error_mutex = {};
  std::string error = {};

  LogFacts facts;

  // The log's file when it was last read.
  std::mutex log_mutex = {};
  std::optional<ino_t> file = {};
  std::int64_t generation = 0;

  std::atomic<std::int64_t> steps = -1;  // of the run; -1 if unknown
  std::mutex action_mutex = {};

  // Of the configuration with this stamp. Another process may start the run anew or make it longer.
  std::mutex data_mutex = {};
  std::string data_stamp = {}, data = {};
  std::mutex replay_mutex = {};
  std::string replay_stamp = {};
  std::unique_ptr<Replayed> replayed = {};

  Entry(std::string id_of, fs::path path)
      : id(std::move(id_of)), folder(std::move(path)), facts(folder.log()) {}
  void join() {
    if (thread.joinable()) thread.join();
  }
  std::string error_now() {
    const std::lock_guard lock(error_mutex);
    return error;
  }
  std::string data_now() {
    const std::lock_guard lock(data_mutex);
    const std::string stamp = stamp_of_file(folder.config());
    if (stamp == data_stamp) return data;
    // At first it may be known: of a run that was started here.
    if (!data_stamp.empty() && !running) steps = -1;
    data_stamp = stamp;
    try {
      data = folder.read_config().data.value_or("digits");
    } catch (const Error&) {  // a log can be shown without a configuration
      data.clear();
    }
    return data;
  }
};

Runs::Runs(Session& session) : session_(session) {}

Runs::~Runs() {
  for (const auto& entry : entries_) entry->stop = true;
  for (const auto& entry : entries_) entry->join();
}

Runs::Entry& Runs::entry(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_)
    if (entry->id == id) return *entry;
  throw Error(ErrorCode::kNotFound, fmt::format("there is no run {}", in_quotes(id)));
}

std::string Runs::add(const fs::path& folder) {
  const std::lock_guard lock(mutex_);
  auto entry = std::make_unique<Entry>(fmt::format("r{}", entries_.size()), named(folder));
  std::error_code ignored;
  if (!fs::exists(entry->folder.config(), ignored) && !fs::exists(entry->folder.log(), ignored))
    throw Error(ErrorCode::kNotFound, fmt::format("{} is not a run", in_quotes(folder.string())));
  entries_.push_back(std::move(entry));
  return entries_.back()->id;
}

std::vector<std::string> Runs::ids() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const auto& entry : entries_) all.push_back(entry->id);
  return all;
}

bool Runs::has(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& e) { return e->id == id; });
}

fs::path Runs::folder(std::string_view id) const { return entry(id).folder.path(); }
std::string Runs::data(std::string_view id) const { return entry(id).data_now(); }

RunState Runs::state(std::string_view id) const {
  Entry& e = entry(id);
  if (e.running) return RunState::kRunning;
  const std::optional<std::string> reason = e.facts.ending().reason;
  if (!reason) return RunState::kElsewhere;
  if (*reason != train::kInterrupted) return RunState::kFinished;
  return e.paused ? RunState::kPaused : RunState::kStopped;
}

Json Runs::info(std::string_view id) const {
  Entry& e = entry(id);
  std::error_code ignored;
  const RunState now = state(id);
  const std::string error = e.error_now(), data = e.data_now();
  const LogFacts::Ending ending = e.facts.ending();
  return {{"id", e.id},
          {"name", e.folder.path().filename().string()},
          {"path", e.folder.path().string()},
          {"state", name(now)},
          {"model", fs::exists(e.folder.model(), ignored) ? Json(e.id) : Json()},
          {"report", fs::exists(e.folder.report(), ignored)},
          {"step", ending.step},
          {"steps", e.steps < 0 ? Json() : Json(e.steps.load())},
          {"data", data},
          {"task", ending.task},
          {"error", error.empty() ? Json() : Json(error)}};
}

// ---- logs

std::vector<train::StepEvent> thinned(const std::vector<train::StepEvent>& steps,
                                      std::int64_t most) {
  const auto count = static_cast<std::int64_t>(steps.size());
  if (count <= most) return steps;
  const std::int64_t buckets = std::max<std::int64_t>(1, most / 4);
  const auto is_less = [&](std::size_t a, std::size_t b) {  // NaN is the greatest
    return steps[a].loss < steps[b].loss ||
           (!std::isnan(steps[a].loss) && std::isnan(steps[b].loss));
  };
  std::vector<train::StepEvent> kept;
  for (std::int64_t b = 0; b < buckets; ++b) {
    const auto first = static_cast<std::size_t>(b * count / buckets);
    const auto last = static_cast<std::size_t>((b + 1) * count / buckets) - 1;
    std::size_t least = first, greatest = first;
    for (std::size_t i = first; i <= last; ++i) {
      if (is_less(i, least)) least = i;
      if (is_less(greatest, i)) greatest = i;
    }
    for (const std::size_t i : std::set<std::size_t>{first, least, greatest, last})
      kept.push_back(steps[i]);
  }
  return kept;
}

LogDelta Runs::log(const LogRequest& request) {
  Entry& e = entry(request.run);
  LogDelta delta{.run = request.run,
                 .cursor = request.cursor,
                 .state = state(request.run),
                 .error = e.error_now()};
  const auto now = file_now(e.folder.log());
  if (!now) return delta;
  std::int64_t generation = 0;
  {
    const std::lock_guard lock(e.log_mutex);
    if (e.file != now->file) {
      e.file = now->file;
      ++e.generation;
    }
    generation = e.generation;
  }
  std::int64_t offset = request.cursor % kOffsets;
  if (request.cursor / kOffsets != generation || offset > now->size || offset < 0) {
    delta.reset = request.cursor != 0;
    offset = 0;
  }
  constexpr std::int64_t kStepBytes = 100;  // a rough estimate; plain lines are longer
  delta.steps.reserve(static_cast<std::size_t>((now->size - offset) / kStepBytes));
  Gathered gathered{delta};
  const std::int64_t bytes = each_line(e.folder.log(), offset, now->size,
                                       [&](std::string_view line) { add_line(line, gathered); });
  delta.cursor = generation * kOffsets + offset + bytes;
  delta.total_steps = static_cast<std::int64_t>(delta.steps.size());
  std::size_t epochs = std::numeric_limits<std::size_t>::max(), others = epochs;
  if (offset == 0) {
    const std::int64_t most = std::max<std::int64_t>(4, request.most);
    delta.steps = thinned(delta.steps, most);
    epochs = static_cast<std::size_t>(most);
    others = std::max<std::size_t>(2, epochs / 8);  // a probe has numbers for every layer
  }
  delta.epochs = some_of(gathered.epochs, epochs);
  delta.probes = some_of(gathered.probes, others);
  delta.samples = some_of(gathered.samples, others);
  delta.thinned = static_cast<std::int64_t>(delta.steps.size()) < delta.total_steps;
  return delta;
}

Json to_json(const LogDelta& d) {
  Json step = Json::array(), epoch = Json::array(), loss = Json::array(), rate = Json::array(),
       norm = Json::array();
  for (const train::StepEvent& s : d.steps) {
    step.push_back(s.step);
    epoch.push_back(s.epoch);
    loss.push_back(number_json(s.loss));
    rate.push_back(number_json(s.learning_rate));
    norm.push_back(number_json(s.gradient_norm));
  }
  Json document{{"run", d.run},
                {"cursor", d.cursor},
                {"state", name(d.state)},
                {"reset", d.reset},
                {"error", d.error.empty() ? Json() : Json(d.error)},
                {"steps",
                 {{"step", step},
                  {"epoch", epoch},
                  {"loss", loss},
                  {"learning_rate", rate},
                  {"gradient_norm", norm}}},
                {"thinned", d.thinned},
                {"total_steps", d.total_steps},
                {"epochs", Json(d.epochs)},
                {"probes", Json(d.probes)},
                {"samples", Json(d.samples)},
                {"findings", Json(d.findings)},
                {"end", d.end ? *d.end : Json()}};
  if (d.begun) document["begun"] = *d.begun;
  return document;
}

std::vector<ConfigRow> config_diff(const std::vector<Json>& configs) {
  std::vector<std::map<std::string, Json>> flat(configs.size());
  std::set<std::string> keys;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    flatten("", configs[i], flat[i]);
    for (const auto& [key, value] : flat[i]) keys.insert(key);
  }
  std::vector<ConfigRow> rows;
  for (const std::string& key : keys) {
    ConfigRow row{key, {}};
    for (const auto& one : flat) {
      const auto found = one.find(key);
      row.values.push_back(found == one.end() ? Json() : found->second);
    }
    const auto other = [&](const Json& v) { return !(v == row.values.front()); };
    if (std::any_of(row.values.begin(), row.values.end(), other)) rows.push_back(std::move(row));
  }
  return rows;
}

// ---- training

void Runs::train(Entry& e) {
  e.steps = e.run->trainer().steps();
  e.stop = false;
  e.paused = false;
  e.running = true;
  {
    const std::lock_guard lock(e.error_mutex);
    e.error.clear();
  }
  const auto end = [&e] {
    e.run.reset();  // and with it the lock of the folder: another process may resume the run
    e.running = false;
  };
  try {
    e.thread = std::thread([&e, end] {
      try {
        e.run->train([&e] { return e.stop.load(); });
      } catch (const std::exception& thrown) {
        const std::lock_guard lock(e.error_mutex);
        e.error = thrown.what();
      }
      end();
    });
  } catch (...) {  // the system has no thread for it
    end();
    throw;
  }
}

std::string Runs::start(const std::string& run_name, const Json& config) {
  constexpr std::size_t kLongestName = 64;
  const fs::path& parent = session_.options().folder;
  if (parent.empty())
    throw Error(ErrorCode::kInvalidArgument,
                "cannot start a run: the command line has no folder for runs");
  const bool fits = !run_name.empty() && run_name.size() <= kLongestName &&
                    std::all_of(run_name.begin(), run_name.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '-' || c == '_';
                    });
  if (!fits)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("name: expected 1 to {} letters, digits, '-' or '_', got {}",
                            kLongestName, in_quotes(run_name)));
  const fs::path folder = parent / run_name;
  std::error_code ignored;
  if (fs::exists(folder, ignored))
    throw Error(ErrorCode::kInvalidArgument, fmt::format("there already is a run {}", run_name));
  const train::TrainConfig chosen = train::parse_train_config(config.dump(), "config");
  session_.check_data(chosen.data.value_or("digits"));
  if (chosen.tokenizer && chosen.tokenizer->find(':') != std::string::npos)
    throw Error(ErrorCode::kInvalidArgument, "tokenizer: one from a folder is not allowed here");
  auto run = std::make_unique<train::Run>(
      chosen, train::RunOptions{.folder = folder, .pool = nullptr, .command = {"limpid", "view"}});
  run->start();  // an error of the folder is the answer here; later, the thread could only log it
  const std::string id = add(folder);
  Entry& e = entry(id);
  e.run = std::move(run);
  train(e);
  return id;
}

void Runs::act(std::string_view id, Action action) {
  Entry& e = entry(id);
  const std::lock_guard lock(e.action_mutex);
  if (action == Action::kStop && state(id) == RunState::kPaused) {
    e.paused = false;
    return;
  }
  if (action != Action::kResume) {
    if (!e.running)
      throw Error(ErrorCode::kInvalidArgument, fmt::format("run {} is not training here", e.id));
    e.paused = action == Action::kPause;
    e.stop = true;
    e.join();
    return;
  }
  if (e.running)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("run {} is already training", e.id));
  e.join();
  auto run = std::make_unique<train::Run>(
      e.folder.read_config(),
      train::RunOptions{.folder = e.folder.path(), .pool = nullptr, .command = {"limpid", "view"}});
  run->resume();  // other data, or a process that trains it: the answer says so
  e.run = std::move(run);
  train(e);
}

// ---- the time machine

StepAgain Runs::at(std::string_view id, std::int64_t step) {
  Entry& e = entry(id);
  const auto began = std::chrono::steady_clock::now();
  const auto lock = stoppable_lock(e.replay_mutex);
  const std::string data = e.data_now();
  const std::int64_t extended = e.facts.extension();
  const std::string stamp = fmt::format("{} {}", stamp_of_file(e.folder.config()), extended);
  if (stamp != e.replay_stamp) {
    e.replayed.reset();
    e.replay_stamp = stamp;
  }
  if (!e.replayed)
    e.replayed = std::make_unique<Replayed>(e.folder.read_config(), extended, session_.pool());
  std::optional<train::TrainState> saved;
  bool verifies = false;
  if (e.folder.has_checkpoint()) {
    try {
      train::Checkpoint checkpoint = train::load_checkpoint(e.folder.checkpoint());
      if (e.replayed->owns(checkpoint)) saved = std::move(checkpoint.state);
      // A state to verify is computed from an earlier one, if there is one.
      verifies = saved && saved->step == step && (step == 0 || e.replayed->reaches(step - 1));
      if (saved && !verifies) e.replayed->offer(*saved);
    } catch (const Error&) {  // then it is computed from the start
    }
  }
  if (step < 0 || step > e.replayed->steps() || step > session_.limits().steps)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("step {}: the run {} has {} steps", step, e.id, e.replayed->steps()));
  e.steps = e.replayed->steps();
  if (!e.replayed->reaches(step))
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("step {}: the run {} was made longer after step {}, expected a step from "
                    "a later checkpoint on",
                    step, e.id, extended));
  const Replayed::Moved moved = e.replayed->go(step);
  if (e.replayed->now() != step)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("the run {} ended after {} steps", e.id, e.replayed->now()));
  StepAgain again{
      .step = step, .steps = e.replayed->steps(), .from = moved.from, .loss = moved.loss};
  if (verifies) {
    bool same = true;
    for (const auto& [name, tensor] : e.replayed->state().params) {
      const Tensor* const other = saved->params.find(name);
      same = same && other && tensor.same_bits(*other);
    }
    again.verified = same;
  }
  OpenModel open{
      .id = fmt::format("{}@{}", e.id, step),
      .name = fmt::format("{} after {} steps", e.folder.path().filename().string(), step),
      .origin = Origin::kStep,
      .data = data};
  open.model = e.replayed->model();
  again.model = session_.add(std::move(open));
  again.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return again;
}

Json to_json(const StepAgain& a) {
  return {{"model", model_json(*a.model)},
          {"step", a.step},
          {"steps", a.steps},
          {"from", a.from},
          {"hash", fmt::format("{:016x}", a.model->hash())},
          {"loss", a.loss ? number_json(*a.loss) : Json()},
          {"verified", a.verified ? Json(*a.verified) : Json()},
          {"seconds", a.seconds}};
}

}  // namespace limpid::view
