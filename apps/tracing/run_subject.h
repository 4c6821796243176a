// What a run is about, for all that is written about it.

#ifndef DTNN_APPS_TRACING_RUN_SUBJECT_H_
#define DTNN_APPS_TRACING_RUN_SUBJECT_H_

#include <string>

#include "apps/flags/options.h"
#include "apps/make/make_loaders.h"
#include "data/dataset.h"
#include "models/graph/graph.h"
#include "optim/optimizers/optimizer.h"
#include "tensor/device.h"

namespace dtnn {

struct RunSubject {
  const Options& given;    // as the user gave them
  const Options& options;  // of this rank
  int ranks;
  const Graph& graph;
  const Dataset& dataset;
  const Loaders& loaders;
  const Optimizer& optimizer;
  Device device;
};

// "simplecnn, with 101958 parameters (float32), learns mnist: ...".
std::string DescribeRun(const RunSubject& run);
// "AMD EPYC 7543 32-Core Processor, 2 threads (AVX2)".
std::string DescribeMachine(const RunSubject& run);

}  // namespace dtnn

#endif  // DTNN_APPS_TRACING_RUN_SUBJECT_H_
