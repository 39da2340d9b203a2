// A run of training in a moment, with the log that the tool would write.
#pragma once

#include <map>
#include <string>

#include "limpid/train/diagnostics/data_facts.h"
#include "limpid/train/diagnostics/doctor.h"
#include "limpid/train/diagnostics/probe.h"
#include "limpid/train/loop/trainer.h"

namespace limpid::train {

struct SmallRun {
  Split data;
  nn::Mlp net;
  TrainOptions options;
  Task task = Task::kClassification;
  bool standardize = false;

  RunLog log() const {
    RunLog log;
    log.run.task = name(task);
    log.run.data = {data.train.name,   data.train.size(), data.validation.size(), data.test.size(),
                    net.sizes.front(), net.sizes.back(),  data.train.class_names};
    log.run.config["optimizer"]["name"] = optim::name(options.rule.optimizer);
    if (options.early_stopping)
      log.run.config["early_stopping"]["patience"] = options.early_stopping->patience;
    log.add(data_facts(data));
    Standardization standardization;
    if (standardize) standardization = fit_standardization(data.train, Scaling::kZScore);
    Trainer trainer(mlp_problem(net, task, {}, standardization), data, options);
    std::map<std::int64_t, Probe> probes;  // by rows
    while (trainer.ending() == Ending::kNone) {
      const std::int64_t step = trainer.steps_done();
      const StepResult result = trainer.step();
      log.add(result.step);
      const std::int64_t each = std::max<std::int64_t>(trainer.steps_an_epoch(), 1);
      // Once an epoch, and a few more in the first one.
      if (step % each == 0 || (step < each && step % (each / 4 + 1) == 0)) {
        const std::int64_t rows = trainer.observed_rows();
        if (!probes.count(rows))
          probes.emplace(rows, Probe(loss_function(trainer.problem(), rows),
                                     trainer.problem().parameters().size()));
        log.add(ProbeEvent{step, probes.at(rows)(trainer.observed())});
      }
      if (result.epoch) log.add(*result.epoch);
    }
    EndEvent end;
    end.reason = name(trainer.ending());
    log.add(end);
    return log;
  }

  std::vector<Finding> findings() const { return diagnose(log()); }
};

}  // namespace limpid::train
