// What --verbose adds to the output of a run, as whole lines.

#ifndef DTNN_APPS_LAUNCHER_VERBOSE_H_
#define DTNN_APPS_LAUNCHER_VERBOSE_H_

#include <string>

#include "apps/flags/options.h"
#include "apps/make/make_loaders.h"
#include "data/dataset.h"
#include "models/graph/graph.h"
#include "tensor/device.h"

namespace dtnn {

// How many samples go where, and who reads them.
std::string DescribeLoaders(const Dataset& dataset, const Loaders& loaders);
// By which algorithms the network is computed.
std::string DescribeKernels(const Graph& graph, const Options& options, Device device);
// How much of `seconds` training and validation waited for data.
std::string DescribeWaiting(const Loaders& loaders, double seconds);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_VERBOSE_H_
