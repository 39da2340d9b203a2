#include "limpid/serve/scheduler.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "limpid/serve/deferred_posts.h"

namespace limpid::serve {
namespace {

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

// A text, and its sequence once it has a place in the model.
struct Scheduler::Job {
  Text text;
  Clock::time_point asked{}, begun{};
  std::optional<nn::Generation> sequence = {};
  std::size_t unread = 0;  // tokens of the sequence's first prompt not yet read
  std::size_t given = 0;   // tokens of the prompt given to the sequence
  std::int64_t drawn = 0;  // tokens

  bool given_up() const { return text.ticket && text.ticket->given_up(); }
  // Whether the next token is to be drawn, and its logits are computed.
  bool draws() const {
    return sequence->ready() && given == text.prompt.size() && drawn < text.tokens && !given_up();
  }
};

class Scheduler::Lane {
 public:
  Lane(nn::LanguageModel its_model, std::int64_t its_chunk, ThreadPool* its_pool)
      : model(std::move(its_model)), chunk(static_cast<std::size_t>(its_chunk)), pool(its_pool) {
    drawing.reserve(static_cast<std::size_t>(model.places()));
  }

  nn::LanguageModel model;  // used by the Scheduler's thread only
  const std::size_t chunk;
  ThreadPool* const pool;
  std::list<Job> queue;      // guarded by the Scheduler's mutex
  std::list<Job> jobs = {};  // with places; used by the Scheduler's thread only
  std::vector<Job*> drawing = {};
  std::atomic<std::size_t> running{0};
};

Scheduler::Scheduler(const Options& options) : options_(options), thread_([this] { work(); }) {}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  // A text left in its lane owns the model, and the model owns the lane: a cycle.
  for (const std::shared_ptr<Lane>& lane : busy_) {
    lane->jobs.clear();
    lane->queue.clear();
  }
}

std::shared_ptr<Scheduler::Lane> Scheduler::lane(nn::LanguageModel model, std::int64_t chunk,
                                                 ThreadPool* pool) {
  return std::make_shared<Lane>(std::move(model), chunk, pool);
}

bool Scheduler::submit(const std::shared_ptr<Lane>& lane, std::vector<Text> texts) {
  std::list<Job> jobs;
  std::list<Job> given_up;  // destroyed unlocked
  for (Text& text : texts) jobs.push_back({.text = std::move(text), .asked = Clock::now()});
  {
    const std::lock_guard lock(mutex_);
    if (jobs.size() > options_.max_queue - waiting_) drop_given_up(given_up);
    if (jobs.size() > options_.max_queue - waiting_) return false;
    if (std::find(busy_.begin(), busy_.end(), lane) == busy_.end()) busy_.push_back(lane);
    waiting_ += jobs.size();
    lane->queue.splice(lane->queue.end(), jobs);
  }
  changed_.notify_one();
  return true;
}

// Texts whose clients have left make room for others.
void Scheduler::drop_given_up(std::list<Job>& dropped) {
  for (const std::shared_ptr<Lane>& lane : busy_)
    for (auto at = lane->queue.begin(); at != lane->queue.end();) {
      const auto job = at++;
      if (!job->text.ticket || !job->text.ticket->given_up()) continue;
      --waiting_;
      dropped.splice(dropped.end(), lane->queue, job);
    }
}

std::size_t Scheduler::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

std::size_t Scheduler::running(const Lane& lane) { return lane.running.load(); }

void Scheduler::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !busy_.empty(); });
    if (stop_) return;
    // The first lane has its turn and moves to the end of the line.
    const auto at = busy_.begin();
    const std::shared_ptr<Lane> lane = *at;
    admit(*lane);
    lock.unlock();
    run(*lane);
    lock.lock();
    if (lane->jobs.empty() && lane->queue.empty())
      busy_.erase(at);
    else
      busy_.splice(busy_.end(), busy_, at);
  }
}

// Texts join while there are places, and while the prompts to read are shorter than one chunk: the
// texts being generated wait for them.
void Scheduler::admit(Lane& lane) {
  std::size_t reading = 0;
  for (const Job& job : lane.jobs) reading += std::min(job.unread, lane.chunk);
  auto places = static_cast<std::size_t>(lane.model.places());
  // Wherever they wait: they would keep others out of a full queue.
  waiting_ -= lane.queue.remove_if([](const Job& job) { return job.given_up(); });
  while (!lane.queue.empty() && places > 0 && reading < lane.chunk) {
    Job& next = lane.queue.front();
    --places;
    reading += next.text.reads_prompt ? 1 : std::min(next.text.prompt.size(), lane.chunk);
    next.begun = Clock::now();
    lane.jobs.splice(lane.jobs.end(), lane.queue, lane.queue.begin());
    --waiting_;
  }
  lane.running = lane.jobs.size();
}

// Gives the text a place in the model. Throws what Generation throws.
void Scheduler::join(Lane& lane, Job& job) {
  const std::span<const std::int32_t> prompt = job.text.prompt;
  const bool one_by_one = job.text.reads_prompt && !prompt.empty();
  job.sequence.emplace(lane.model, one_by_one ? prompt.first(1) : prompt, job.text.drawing);
  job.unread = one_by_one ? 1 : prompt.size();
  job.given = one_by_one ? 1 : prompt.size();
  if (one_by_one) job.text.on_token({.token = prompt.front(), .of_prompt = true});
}

// Draws the next token of all texts, on all threads: a large vocabulary takes long.
void Scheduler::draw_ahead(Lane& lane) {
  if (!lane.pool) return;
  lane.drawing.clear();
  for (Job& job : lane.jobs)
    if (job.draws()) lane.drawing.push_back(&job);  // reserved for all places
  const auto draw = [](void* jobs, std::size_t i, int) {
    try {
      static_cast<Job**>(jobs)[i]->sequence->draw_ahead();
    } catch (...) {
      // go_on() meets the same error and reports it.
    }
  };
  lane.pool->run(lane.drawing.size(), draw, lane.drawing.data());
}

// Passes on the next token, if the tokens before it are read. Returns false at the end of the text.
bool Scheduler::go_on(Job& job) {
  nn::Generation& sequence = *job.sequence;
  if (!sequence.ready()) return true;
  const std::span<const float> logits = sequence.logits();
  if (job.given < job.text.prompt.size()) {
    const std::int32_t token = job.text.prompt[job.given++];
    sequence.append(token);
    return job.text.on_token({token, logits, true});
  }
  if (job.drawn == job.text.tokens) return false;
  const std::int32_t token = sequence.draw();
  ++job.drawn;
  return job.text.on_token({token, logits, false}) && job.drawn < job.text.tokens;
}

// One step of a model: reads the pending tokens, then every text that is ready gets its next token.
void Scheduler::run(Lane& lane) {
  const auto end = [&](std::list<Job>::iterator job, const std::exception_ptr& error) {
    // Frees the place before anybody learns of the end.
    job->sequence.reset();
    try {
      if (job->text.on_end && !job->given_up())
        job->text.on_end({.error = error,
                          .queue_seconds = seconds(job->begun - job->asked),
                          .compute_seconds = seconds(Clock::now() - job->begun)});
    } catch (...) {
      // There is nobody else to report to.
    }
    return lane.jobs.erase(job);
  };
  for (auto job = lane.jobs.begin(); job != lane.jobs.end();) {
    try {
      if (!job->sequence) join(lane, *job);
      ++job;
    } catch (...) {
      job = end(job, std::current_exception());
    }
  }
  std::exception_ptr failed;
  try {
    lane.model.step();
  } catch (...) {
    failed = std::current_exception();
  }
  if (!failed) draw_ahead(lane);
  const DeferredPosts deferred;
  for (auto job = lane.jobs.begin(); job != lane.jobs.end();) {
    job->unread -= std::min(job->unread, lane.chunk);
    bool goes_on = false;
    std::exception_ptr error = failed;
    try {
      goes_on = !failed && !job->given_up() && go_on(*job);
    } catch (...) {
      error = std::current_exception();
    }
    job = goes_on ? std::next(job) : end(job, error);
  }
  lane.running = lane.jobs.size();
}

}  // namespace limpid::serve
