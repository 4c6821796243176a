// How a run's data and computation are described, as whole lines; most of it with output.verbose
// only.

#ifndef DTNN_MODELS_RUN_PREPARE_DESCRIPTIONS_H_
#define DTNN_MODELS_RUN_PREPARE_DESCRIPTIONS_H_

#include <string>

#include "data/dataset.h"
#include "models/graph/graph.h"
#include "models/run/options/run_options.h"
#include "models/run/samples/make_loaders.h"
#include "tensor/device.h"

namespace dtnn {

// How many samples go where.
std::string DescribeSamples(const Dataset& dataset, const Loaders& loaders);
// How they are read.
std::string DescribeLoaders(const Loaders& loaders);
// By which algorithms the network is computed.
std::string DescribeKernels(const Graph& graph, const RunOptions& options, Device device);
// How much of `seconds` training and validation waited for data.
std::string DescribeWaiting(const Loaders& loaders, double seconds);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PREPARE_DESCRIPTIONS_H_
