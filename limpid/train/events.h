// What a run of training tells about itself: the events of its log as plain values. Leans on core.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/core/params.h"

namespace limpid::train {

// Metrics by name: "loss", "accuracy".
using Numbers = Named<double>;

// ---- how a run began

// The first event of a log.
struct RunEvent {
  // What it trains on.
  struct Data {
    std::string name;
    std::int64_t train = 0, validation = 0, test = 0;  // examples of each part
    std::int64_t features = 0, outputs = 0;
    std::vector<std::string> class_names;  // may be empty
  };
  // What it trains with.
  struct Environment {
    std::string isa;
    std::int64_t threads = 1;
    std::string cpu, system, compiler;
  };
  std::string version;
  std::vector<std::string> command;  // the arguments, the program's name first
  Json config;                       // what repeats the run
  Json model;                        // the model's hyper-parameters
  std::int64_t parameters = 0;       // numbers that are trained
  std::string task;                  // "classification", "multilabel" or "regression"
  Data data;
  Environment environment;
};

// ---- what the data is like

// Of the finite values of one column of the training part; `std` is the population's.
struct FeatureFacts {
  std::string name;  // empty where the data has no names
  std::int64_t column = 0;
  double min = 0, max = 0, mean = 0, std = 0;
};

// A value of the inputs that is no number or infinite.
struct NonFinite {
  std::string part;  // "train", "validation", "test"
  std::int64_t row = 0, column = 0;
  double value = 0;
};

// Rows of `part` whose inputs are those, bit for bit, of an earlier row of `other`, which may be
// the same part.
struct Duplicates {
  std::string part, other;
  std::int64_t rows = 0;                // so many of
  std::int64_t of = 0;                  // the part's rows
  std::int64_t row = 0, other_row = 0;  // the first pair
};

// What was seen in the data before the first step.
struct DataFacts {
  std::int64_t rows = 0;                       // of the training part
  double min = 0, max = 0, mean = 0, std = 0;  // of all finite values of its inputs
  std::int64_t constant_features = 0;          // columns with one value
  std::vector<FeatureFacts> features;          // at most kListedFeatures
  std::vector<std::int64_t> class_counts;      // of the training part; empty without classes
  std::vector<Duplicates> duplicates;          // only pairs of parts that have some
  std::int64_t non_finite = 0;                 // in all parts
  std::vector<NonFinite> first_non_finite;     // at most kListedNonFinite of them
  std::vector<FeatureFacts> targets = {};      // of a regression, at most kListedFeatures
  std::vector<FeatureFacts> giveaways = {};    // columns that tell the target by themselves
};
// Of more columns, those of the largest root mean square are listed.
inline constexpr std::size_t kListedFeatures = 64;
inline constexpr std::size_t kListedNonFinite = 8;

// ---- how a run goes

// One update.
struct StepEvent {
  std::int64_t step = 0;   // counted from 1: the steps done, this one among them
  std::int64_t epoch = 0;  // counted from 1
  double loss = 0;         // of the step's batch, before its update
  double learning_rate = 0;
  double gradient_norm = 0;  // before any clipping
  // Of each shard's gradient and loss, 16 hexadecimal digits; empty where nobody asked.
  std::vector<std::string> shards = {};
};

// L2 norms; `update_norm` is that of what the step added to the parameter.
struct ParameterStatistics {
  std::string name;  // "layers.0.weight"
  double mean = 0, std = 0, norm = 0;
  double gradient_norm = 0;
  double update_norm = 0;

  double update_ratio() const { return norm > 0 ? update_norm / norm : 0; }
};

// Of one value on the way through a layer, over a whole batch.
struct ActivationStatistics {
  // That made it: "linear", "relu"; "input" for what the first layer is given, "residual" for a sum
  // of what went around a layer and what came out of it.
  std::string op;
  double mean = 0, std = 0;
  double zero_share = 0;       // of the elements
  double dead_share = 0;       // of the units: 0 for every example of the batch
  double saturated_share = 0;  // of the elements: where the activation's slope is below nn::kFlat
};

// Of one attention, over a whole batch: the entropy of a query's weights, over that of equal
// weights on all the keys that it sees. 1: it looks at all of them alike; 0: at one alone. Queries
// that see one key do not count.
struct AttentionStatistics {
  double entropy = 0;       // the mean over all queries
  double lowest_head = 0;   // and over those of the head where it is least,
  double highest_head = 0;  // and most
};

// Of one layer: its parameters, and the values on the way through it.
struct LayerStatistics {
  std::string name;  // "layers.0"
  std::vector<ParameterStatistics> parameters;
  std::vector<ActivationStatistics> activations;  // in the order in which they are computed
  std::vector<AttentionStatistics> attention = {};
};

// A look into all layers.
struct ProbeEvent {
  std::int64_t step = 0;  // steps done before; the updates are those of the step that follows
  std::vector<LayerStatistics> layers;
};

// The end of an epoch.
struct EpochEvent {
  std::int64_t epoch = 0;  // counted from 1
  std::int64_t step = 0;   // steps done
  double learning_rate = 0;
  // `validation` is of the test part where there is no validation part, empty where there is
  // neither.
  Numbers train, validation;
  double gradient_norm = 0;
  double samples_per_second = 0;
  bool best = false;
};

// A text that a language model wrote as it was then, always drawn by the same keys behind the same
// beginning.
struct SampleEvent {
  std::int64_t step = 0;  // steps done
  std::string text;
};

// How much it matters.
enum class Severity : std::uint8_t { kInfo, kWarning, kError };

// One choice of a configuration.
struct Setting {
  std::string key;  // its path, "optimizer.lr"
  Json value;
};

// Something to try: settings to make together, or words where no setting helps.
struct Remedy {
  std::string words;              // empty where there are settings
  std::vector<Setting> settings;  // empty where there are words
};

// What the doctor found.
struct Finding {
  std::string rule;  // its name in docs/reference/doctor.md
  Severity severity = Severity::kWarning;
  std::string layer;      // "layers.0"; empty where it is the whole network
  std::string symptom;    // with its numbers
  std::string cause;      // the likely one
  std::string fix;        // to try: the remedies in words
  std::int64_t step = 0;  // when it was found: steps done
  // The best first; none where the finding follows from another.
  std::vector<Remedy> remedies = {};
  std::string follows_from = {};  // the rule that explains it; empty where it stands for itself
};

// The run was taken up again from a checkpoint.
struct ResumeEvent {
  std::int64_t step = 0;                  // steps done
  std::vector<std::string> command = {};  // that made the run longer; else empty
};

// ---- how it ended

// Of one class; metrics.h defines them.
struct ClassScores {
  double precision = 0, recall = 0, f1 = 0;
};

// What metrics.h computes of outputs and targets.
struct TestResult {
  Numbers metrics;
  std::vector<std::vector<std::int64_t>> confusion;  // [label][answer]; may be empty
  std::vector<ClassScores> per_class;                // may be empty
};

// The reason of the end of a run that may go on.
inline constexpr std::string_view kInterrupted = "interrupted";

// The last event of a log.
struct EndEvent {
  std::string reason;  // "finished", "early stopping", "non-finite loss", "interrupted"
  std::int64_t best_epoch = 0;
  Numbers validation;
  TestResult test;
  double seconds = 0;
  std::int64_t step = 0;  // steps done; 0 in logs of versions that did not say it
};

// Any event.
using Event = std::variant<RunEvent, DataFacts, StepEvent, ProbeEvent, EpochEvent, SampleEvent,
                           Finding, ResumeEvent, EndEvent>;

}  // namespace limpid::train
