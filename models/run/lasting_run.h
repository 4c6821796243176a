// What a run keeps when its ranks change: from one generation of them to the next, in this process.

#ifndef DTNN_MODELS_RUN_LASTING_RUN_H_
#define DTNN_MODELS_RUN_LASTING_RUN_H_

#include <memory>
#include <optional>

#include "comm/ranks/job/elastic_rank.h"
#include "comm/ranks/job/interrupt.h"
#include "data/dataset.h"
#include "models/callbacks/hand_over.h"
#include "models/training/step/metric_averages.h"

namespace dtnn {

struct LastingRun {
  ElasticRank* rank = nullptr;
  std::shared_ptr<const Dataset> dataset = nullptr;
  std::optional<KeptRun> kept = {};  // the last whole step, where this rank has one
  bool over = false;                 // the run cannot continue, and `kept` has not been saved
  NamedMetrics last_metrics = {};
  // From the beginning of training on: a signal between two generations counts for the next.
  std::optional<Interrupt> interrupt = {};
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_LASTING_RUN_H_
