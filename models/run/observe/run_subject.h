// What a run is about, for all that is written about it.

#ifndef DTNN_MODELS_RUN_OBSERVE_RUN_SUBJECT_H_
#define DTNN_MODELS_RUN_OBSERVE_RUN_SUBJECT_H_

#include <string>

#include "data/dataset.h"
#include "models/graph/graph.h"
#include "models/run/observe/run_listing.h"
#include "models/run/options/run_options.h"
#include "models/run/samples/make_loaders.h"
#include "models/training/rates/learning_rate_range.h"
#include "optim/optimizers/optimizer.h"
#include "tensor/device.h"

namespace dtnn {

struct RunSubject {
  const RunListing& listing;
  const RunOptions& options;  // of this rank
  int ranks;
  const Graph& graph;
  const Dataset& dataset;
  const Loaders& loaders;
  const Optimizer& optimizer;
  Device device;
  const LearningRateRange& rates;  // of a range test before training; without points: none
};

// "simplecnn, with 101958 parameters (float32), learns mnist: ...".
std::string DescribeRun(const RunSubject& run);
// "AMD EPYC 7543 32-Core Processor, 2 threads (AVX2)".
std::string DescribeMachine(const RunSubject& run);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OBSERVE_RUN_SUBJECT_H_
