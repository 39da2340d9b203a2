// The events in the log of a training run, as plain structs. Depends on core.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "limpid/core/enum_names.h"
#include "limpid/core/json.h"
#include "limpid/core/params.h"

namespace limpid::train {

// Metrics by name: "loss", "accuracy".
using Numbers = Named<double>;

// ---- the start of a run

// The first event of a log.
struct RunEvent {
  // The data.
  struct Data {
    std::string name;
    std::int64_t train = 0, validation = 0, test = 0;  // examples of each set
    std::int64_t features = 0, outputs = 0;
    std::vector<std::string> class_names;  // may be empty
    std::vector<std::string> notes = {};   // what was assumed while the data was read
  };
  // The machine and the build.
  struct Environment {
    std::string isa;
    std::int64_t threads = 1;
    std::string cpu, system, compiler;
  };
  std::string version;
  std::vector<std::string> command;  // the arguments, the program's name first
  Json config;                       // the complete configuration, which reproduces the run
  Json model;                        // the model's hyper-parameters
  std::int64_t parameters = 0;       // number of trainable parameters
  std::string task;                  // "classification", "multilabel" or "regression"
  Data data;
  Environment environment;
};

// ---- statistics of the data

// Statistics of the finite values of one column of the training set; `std` is the population
// standard deviation.
struct FeatureFacts {
  std::string name;  // empty if the data has no names
  std::int64_t column = 0;
  double min = 0, max = 0, mean = 0, std = 0;
};

// A NaN or an infinity in the inputs.
struct NonFinite {
  std::string part;  // "train", "validation", "test"
  std::int64_t row = 0, column = 0;
  double value = 0;
};

// Rows of `part` whose inputs equal, bit for bit, those of an earlier row of `other`, which may be
// the same set.
struct Duplicates {
  std::string part, other;
  std::int64_t rows = 0;                // number of duplicate rows
  std::int64_t of = 0;                  // number of rows of `part`
  std::int64_t row = 0, other_row = 0;  // the first pair
};

// A value of a column, of the training set, that is far from all others: the smallest or the
// largest, in `rows` rows; the others are between `low` and `high`.
struct FarValue {
  std::string name;  // of the column; empty if the data has no names
  std::int64_t column = 0;
  bool target = false;  // the column is a target
  double value = 0;
  std::int64_t rows = 0;
  double low = 0, high = 0;
};

// A column whose mean in another set is far from that in the training set.
struct Shift {
  std::string part;  // "validation", "test"
  FeatureFacts here, train;
};

// A column that tells the target almost by itself, while no other does: the share of the target
// that rows of similar values in it tell, and that of the next best column.
struct TellingColumn {
  FeatureFacts column;
  double share = 0, next = 0;
};

// Statistics of the data before the first step.
struct DataFacts {
  std::int64_t rows = 0;                          // of the training part
  double min = 0, max = 0, mean = 0, std = 0;     // of all finite input values
  std::int64_t constant_features = 0;             // columns with a single value
  std::vector<FeatureFacts> features;             // at most kListedFeatures
  std::vector<std::int64_t> class_counts;         // of the training set; empty without classes
  std::vector<Duplicates> duplicates;             // only for pairs of sets that have some
  std::int64_t non_finite = 0;                    // in all sets
  std::vector<NonFinite> first_non_finite;        // at most kListedNonFinite of them
  std::vector<FeatureFacts> targets = {};         // of a regression; at most kListedFeatures
  std::vector<FeatureFacts> target_leakage = {};  // columns that reveal the target (leakage)
  std::vector<TellingColumn> telling = {};        // at most one; none if there is such a column
  std::vector<FarValue> far_values = {};          // at most kListedFeatures
  std::vector<Shift> shifts = {};                 // the largest of each set
};
// If there are more columns, those with the largest root mean square are listed.
inline constexpr std::size_t kListedFeatures = 64;
inline constexpr std::size_t kListedNonFinite = 8;

// ---- the course of a run

// One update.
struct StepEvent {
  std::int64_t step = 0;   // counted from 1
  std::int64_t epoch = 0;  // counted from 1
  double loss = 0;         // of the step's batch, before its update
  double learning_rate = 0;
  double gradient_norm = 0;  // before any clipping
  // Hash of each shard's gradient and loss, 16 hexadecimal digits; empty unless requested.
  std::vector<std::string> shards = {};
};

// Statistics of a parameter. Norms are L2 norms; `update_norm` is that of the change in the step.
struct ParameterStatistics {
  std::string name;  // "layers.0.weight"
  double mean = 0, std = 0, norm = 0;
  double gradient_norm = 0;
  double update_norm = 0;

  double update_ratio() const { return norm > 0 ? update_norm / norm : 0; }
};

// Statistics of the activations at one point of a layer, over a whole batch.
struct ActivationStatistics {
  // The op that computed them: "linear", "relu"; "input" for the input of the first layer;
  // "residual" for the sum of a residual connection.
  std::string op;
  double mean = 0, std = 0;
  double zero_share = 0;       // of the elements
  double dead_share = 0;       // of the units: 0 for all examples of the batch
  double saturated_share = 0;  // of the elements: the activation's |slope| is below nn::kFlat
};

// Statistics of one attention, over a whole batch: the normalised entropy of a query's attention
// weights (divided by that of equal weights on all keys that it sees). 1: equal attention to all
// keys; 0: to one key. Queries that see only one key do not count.
struct AttentionStatistics {
  double entropy = 0;       // the mean over all queries
  double lowest_head = 0;   // the mean over the queries of the head with the lowest mean
  double highest_head = 0;  // and of the head with the highest
};

// Statistics of one layer: its parameters and activations.
struct LayerStatistics {
  std::string name;  // "layers.0"
  std::vector<ParameterStatistics> parameters;
  std::vector<ActivationStatistics> activations;  // in the order in which they are computed
  std::vector<AttentionStatistics> attention = {};
};

// A probe of all layers.
struct ProbeEvent {
  std::int64_t step = 0;  // steps done before; the updates are those of the next step
  std::vector<LayerStatistics> layers;
};

// The end of an epoch.
struct EpochEvent {
  std::int64_t epoch = 0;  // counted from 1
  std::int64_t step = 0;   // steps done
  double learning_rate = 0;
  // `validation` is over the test set if there is no validation set; empty if there is neither.
  Numbers train, validation;
  double gradient_norm = 0;
  double samples_per_second = 0;
  bool best = false;
};

// A text sample of a language model at this step. All samples of a run use the same keys and the
// same start.
struct SampleEvent {
  std::int64_t step = 0;  // steps done
  std::string text;
};

// The severity of a finding.
enum class Severity : std::uint8_t { kInfo, kWarning, kError };
constexpr EnumNames<3> enum_names(Severity) { return {"severity", {"info", "warning", "error"}}; }
using limpid::name;

// One setting of a configuration.
struct Setting {
  std::string key;  // its path, "optimizer.lr"
  Json value;
};

// A remedy to try: settings to change together, or words if no setting helps.
struct Remedy {
  std::string words;              // empty if there are settings
  std::vector<Setting> settings;  // empty if there are words
};

// A finding of the doctor.
struct Finding {
  std::string rule;  // its name in docs/reference/doctor.md
  Severity severity = Severity::kWarning;
  std::string layer;      // "layers.0"; empty for the whole network
  std::string symptom;    // with its numbers
  std::string cause;      // the likely cause
  std::string fix;        // what to try, in words
  std::int64_t step = 0;  // steps done when it was found
  // The best first; empty if the finding follows from another.
  std::vector<Remedy> remedies = {};
  std::string follows_from = {};  // the rule that explains it; empty if none does
};

// The run was resumed from a checkpoint.
struct ResumeEvent {
  std::int64_t step = 0;                  // steps done
  std::vector<std::string> command = {};  // the command if it made the run longer; else empty
  // The configuration of the longer run; logs of older versions do not say.
  std::optional<Json> config = {};
};

// ---- the end of a run

// Scores of one class; metrics.h defines them.
struct ClassScores {
  double precision = 0, recall = 0, f1 = 0;
};

// Scores of one target of a regression.
struct TargetScores {
  double rmse = 0, mae = 0, r2 = 0;
};

// The metrics of outputs and targets; metrics.h defines them.
struct TestResult {
  Numbers metrics;
  std::vector<std::vector<std::int64_t>> confusion;  // [label][prediction]; may be empty
  std::vector<ClassScores> per_class;                // may be empty
  std::vector<TargetScores> per_target = {};         // may be empty
};

// EndEvent::reason of a run that can be resumed.
inline constexpr std::string_view kInterrupted = "interrupted";

// The last event of a log.
struct EndEvent {
  std::string reason;  // "finished", "early stopping", "non-finite loss", "interrupted"
  std::int64_t best_epoch = 0;
  Numbers validation;
  TestResult test;
  double seconds = 0;
  std::optional<std::int64_t> step = {};  // steps done; logs of older versions do not say
};

// Any event.
using Event = std::variant<RunEvent, DataFacts, StepEvent, ProbeEvent, EpochEvent, SampleEvent,
                           Finding, ResumeEvent, EndEvent>;

}  // namespace limpid::train
